#pragma once

/*
 * Marks a load of a pointer that the program is about to follow, for Pre-translation in
 * `nearfar run`:
 *
 *   #include <nearfar/mkpt.h>
 *   for (node = first; node != NULL; node = NEARFAR_LOAD_PTR(&node->next)) ...
 *
 * NEARFAR_LOAD_PTR(p) is *p, of a pointer's size. The marker is a nop that real processors skip;
 * marker and load are one piece of assembly, so that no compiler comes between them. C (of GCC and
 * Clang) and C++, nothing to link. Compile with -I"$(nearfar run --include)".
 */
#include <nearfar_requests.h>

#define NEARFAR_TEXT_OF(x) #x
#define NEARFAR_TEXT(x) NEARFAR_TEXT_OF(x)

#if defined(__x86_64__)
#define NEARFAR_MKPT_LOAD "nopl " NEARFAR_TEXT(NEARFAR_MKPT) "(%%rax)\n\tmovq %1, %0"
#define NEARFAR_LOAD_PTR(p)                                                 \
  (__extension__({                                                          \
    __typeof__(*(p)) nearfar_loaded;                                        \
    __asm__ volatile(NEARFAR_MKPT_LOAD : "=r"(nearfar_loaded) : "m"(*(p))); \
    nearfar_loaded;                                                         \
  }))
#else
#define NEARFAR_LOAD_PTR(p) (*(p))
#endif

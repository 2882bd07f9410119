#pragma once

/*
 * Marks a load of a pointer that the program is about to follow, for Pre-translation in
 * `nearfar run`:
 *
 *   #include <nearfar/mkpt.h>
 *   for (node = first; node != NULL; node = next) {
 *     next = NEARFAR_LOAD_PTR(&node->next);  // before what else is in its line
 *     ...
 *   }
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
#if defined(__cplusplus)
template <typename T>
[[gnu::always_inline]] inline T nearfar_load_ptr(const volatile T* p) {
  T loaded;
  __asm__ volatile(NEARFAR_MKPT_LOAD : "=r"(loaded) : "m"(*p));
  return loaded;
}
#define NEARFAR_LOAD_PTR(p) nearfar_load_ptr(p)
#else
/* By way of an integer: what p points to may be const. */
#define NEARFAR_LOAD_PTR(p)                                                 \
  (__extension__({                                                          \
    unsigned long long nearfar_loaded;                                      \
    __asm__ volatile(NEARFAR_MKPT_LOAD : "=r"(nearfar_loaded) : "m"(*(p))); \
    (__typeof__(*(p)))nearfar_loaded;                                       \
  }))
#endif
#else
#define NEARFAR_LOAD_PTR(p) (*(p))
#endif

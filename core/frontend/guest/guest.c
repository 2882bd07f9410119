/*
 * The guest library, preloaded into programs under `nearfar run`. Clocks and waits are answered
 * without it; it does what can only be done inside the program:
 *
 *  - time() returns its answer in a register, which no plug-in can change;
 *  - QEMU 7.2 does not tell the address of clwb and clflushopt: libpmem's functions say which
 *    lines they are about to flush. libpmem flushes the lines of a range one after the other, so
 *    the k-th flush instruction inside such a call is that of the k-th line. A copy flushes what
 *    it has stored to, upwards, but for what it stores past the caches: the ends of a large one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nearfar_requests.h"

#define PUBLIC __attribute__((visibility("default")))

/* errno stays as it is: neither libpmem's functions nor their callers expect a change. */
static void request(long what, long a, long b) {
  long result = NEARFAR_SYSTEM_CALL;
  register long third __asm__("rdx") = b;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(what), "S"(a), "r"(third)
                   : "rcx", "r11", "memory");
}

static void flushing(const void* first, size_t bytes) {
  request(NEARFAR_FLUSHING, (long)first, (long)bytes);
}
static void copying(const void* first, size_t bytes) {
  request(NEARFAR_COPYING, (long)first, (long)bytes);
}
static void flushed(void) { request(NEARFAR_FLUSHED, 0, 0); }

PUBLIC time_t time(time_t* to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

/* The function that stands behind ours. Looked up when first used: libpmem may come later. */
#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define TELL_RANGE(result, name, range_type)             \
  PUBLIC result name(range_type address, size_t bytes) { \
    NEXT(name);                                          \
    flushing((const void*)address, bytes);               \
    next(address, bytes);                                \
    flushed();                                           \
  }

TELL_RANGE(void, pmem_flush, const void*)
TELL_RANGE(void, pmem_persist, const void*)
TELL_RANGE(void, pmem_deep_flush, const void*)

#define TELL_COPY(name)                                         \
  PUBLIC void* name(void* to, const void* from, size_t bytes) { \
    NEXT(name);                                                 \
    copying(to, bytes);                                         \
    void* const result = next(to, from, bytes);                 \
    flushed();                                                  \
    return result;                                              \
  }

TELL_COPY(pmem_memcpy_persist)
TELL_COPY(pmem_memcpy_nodrain)
TELL_COPY(pmem_memmove_persist)
TELL_COPY(pmem_memmove_nodrain)

#define TELL_COPY_FLAGS(name)                                                   \
  PUBLIC void* name(void* to, const void* from, size_t bytes, unsigned flags) { \
    NEXT(name);                                                                 \
    copying(to, bytes);                                                         \
    void* const result = next(to, from, bytes, flags);                          \
    flushed();                                                                  \
    return result;                                                              \
  }

TELL_COPY_FLAGS(pmem_memcpy)
TELL_COPY_FLAGS(pmem_memmove)

#define TELL_FILL(name)                                  \
  PUBLIC void* name(void* to, int value, size_t bytes) { \
    NEXT(name);                                          \
    copying(to, bytes);                                  \
    void* const result = next(to, value, bytes);         \
    flushed();                                           \
    return result;                                       \
  }

TELL_FILL(pmem_memset_persist)
TELL_FILL(pmem_memset_nodrain)

PUBLIC void* pmem_memset(void* to, int value, size_t bytes, unsigned flags) {
  NEXT(pmem_memset);
  copying(to, bytes);
  void* const result = next(to, value, bytes, flags);
  flushed();
  return result;
}

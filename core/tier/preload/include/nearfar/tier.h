#pragma once

/*
 * What a program can tell `nearfar tier run` of its memory, and ask about it:
 *
 *   #include <nearfar/tier.h>
 *   nearfar_advise(table, bytes, NEARFAR_COLD);
 *
 * C and C++, nothing to link. Compile with -I"$(nearfar tier header)". The program runs without
 * nearfar just as well: then nothing is managed, and the other calls fail with ENOSYS.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

enum {
  NEARFAR_WILL_NEED = 1, /* bring it back from far memory, as far as there is room */
  NEARFAR_COLD = 2,      /* not used for a while: it may leave near memory now */
  NEARFAR_KEEP_NEAR = 3, /* it comes back and stays near, up to half of what the tree may have */
  NEARFAR_MAY_LEAVE = 4  /* it need not stay near any more */
};

/* Of this process and all others under the same limit; sizes in bytes. */
struct nearfar_stats {
  uint64_t near_limit_bytes;
  uint64_t near_bytes;
  uint64_t far_bytes;
  uint64_t managed_bytes;
  uint64_t faults;
  uint64_t evictions;
  uint64_t copies_in;
  uint64_t copies_out;
};

/*
 * The address of what the preloaded library has, or 0. Read from the table that the dynamic linker
 * fills, as a mere weak reference would become 0 when a program without -pie is linked.
 */
#if defined(__x86_64__) && defined(__linux__)
#define NEARFAR_TIER_FIND(name, function) \
  __asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))
#else
#define NEARFAR_TIER_FIND(name, function) ((function) = 0)
#endif

/* Whether `at` lies in memory whose pages nearfar moves. */
static inline int nearfar_managed(const void* at) {
  int (*managed)(const void*);
  NEARFAR_TIER_FIND("nearfar_tier_managed_1", managed);
  return managed != 0 && managed(at);
}

/*
 * Says what will become of memory; its contents stay. Only whole pages inside of it count. 0, or -1
 * and errno: EINVAL for unknown advice or memory that is not managed, ENOMEM where more would
 * have to stay near than half of near memory, ENOSYS without nearfar.
 */
static inline int nearfar_advise(void* at, size_t bytes, int advice) {
  int (*advise)(void*, size_t, int);
  NEARFAR_TIER_FIND("nearfar_tier_advise_1", advise);
  if (advise != 0) return advise(at, bytes, advice);
  errno = ENOSYS;
  return -1;
}

/* 0, or -1 and errno: ENOSYS without nearfar. */
static inline int nearfar_get_stats(struct nearfar_stats* stats) {
  int (*get)(struct nearfar_stats*);
  NEARFAR_TIER_FIND("nearfar_tier_stats_1", get);
  if (get != 0) return get(stats);
  errno = ENOSYS;
  return -1;
}

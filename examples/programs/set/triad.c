/* a = b + s * c over arrays larger than the caches: bandwidth of sequential access. */
#include "measured.h"

enum { WORDS = 1 << 21, PART = 1 << 15 }; /* three arrays of 16 MiB, a step takes a 64th */

static double* a;
static double* b;
static double* c;

static void set_up(void) {
  a = memory_of(WORDS * sizeof *a);
  b = memory_of(WORDS * sizeof *b);
  c = memory_of(WORDS * sizeof *c);
  for (int i = 0; i < WORDS; ++i) {
    b[i] = (double)(i % 1000);
    c[i] = (double)(i % 77);
  }
}

static uint64_t step(uint64_t i) {
  const size_t begin = (i * PART) % WORDS;
  const double scale = (double)(i % 7);
  for (size_t at = begin; at < begin + PART; ++at) a[at] = b[at] + scale * c[at];
  return (uint64_t)a[begin + i % PART];
}

MEASURED_MAIN(set_up, step)

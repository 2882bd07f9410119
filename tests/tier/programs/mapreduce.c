/* An OpenMP program: threads fill, sort in runs, and add up an array; what it prints is the same for
 * any number of threads. */

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 64, RUN = 1 << 16 };

static int by_value(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a;
  const uint64_t y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

int main(void) {
  uint64_t* values = malloc(sizeof *values * RUNS * RUN);
  if (values == NULL) return 1;
  omp_set_num_threads(4);
#pragma omp parallel for schedule(dynamic)
  for (int run = 0; run < RUNS; ++run) {
    uint64_t random = (uint64_t)run + 1;
    for (int i = 0; i < RUN; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      values[run * RUN + i] = random >> 20;
    }
    qsort(values + run * RUN, RUN, sizeof *values, by_value);
  }
  uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < RUNS * RUN; ++i) sum += values[i] * (uint64_t)(i % 8191);
  printf("%llu\n", (unsigned long long)sum);
  free(values);
  return 0;
}

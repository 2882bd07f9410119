/*
 * Kernels for bench/programs.py: programs KERNEL ITERATIONS.
 *
 *   hits     loads of which one in 128 goes anywhere in 256 MiB, and the others hit L1
 *   random   loads from anywhere in 256 MiB
 *   loop     three loads, a multiplication and a store in L1
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** words) {
  if (count != 3) return 2;
  const size_t length = (256u << 20) / sizeof(uint64_t), hot = 1024;
  const size_t iterations = strtoull(words[2], NULL, 10);
  uint64_t* const area = aligned_alloc(4096, length * sizeof *area);
  /* Every page is there before anything is timed. */
  for (size_t i = 0; i < length; i += 512) area[i] = i;
  uint64_t state = 1, sum = 0;
  if (strcmp(words[1], "loop") == 0) {
    for (size_t i = 0; i < iterations; ++i) {
      const size_t at = i % hot;
      area[at] = area[at + 1] * 3 + area[at + 2];
    }
  } else {
    const uint64_t rare = strcmp(words[1], "hits") == 0 ? 127 : 0;
    for (size_t i = 0; i < iterations; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const uint64_t drawn = state >> 20;
      sum += area[(drawn & rare) != 0 ? drawn >> 7 & (hot - 1) : (drawn >> 7) % length];
    }
  }
  printf("%llx\n", (unsigned long long)(sum + area[1]));
  return 0;
}

/* Makes memory executable of which one half was read-only before, when all of it is far. Prints
 * "ok". */

#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

enum { LENGTH = 64 << 10, BESIDE = 16 << 20, LINE = 64 };

static char* memory_of(size_t length) {
  return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void) {
  char* const half = memory_of(LENGTH);
  char* const beside = memory_of(BESIDE);
  if (half == MAP_FAILED || beside == MAP_FAILED) return 1;
  size_t* const words = (size_t*)(void*)half;
  for (size_t i = 0; i < LENGTH / sizeof *words; ++i) words[i] = i + 1;
  for (int round = 1; round < 4; ++round)
    for (size_t i = 0; i < BESIDE; i += LINE) beside[i] = (char)round;
  if (mprotect(half, LENGTH / 2, PROT_READ) != 0) return 2;
  if (mprotect(half, LENGTH, PROT_READ | PROT_EXEC) != 0) return 3;
  for (size_t i = 0; i < LENGTH / sizeof *words; ++i)
    if (words[i] != i + 1) return 4;
  puts("ok");
}

/* Makes memory executable of which one half was read-only before, when it is far:
 * partly_protected KIB. Prints "ok". */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BESIDE = 16 << 20, LINE = 64 };

static char* memory_of(size_t length) {
  return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int count, char** arguments) {
  if (count != 2) return 1;
  const size_t length = strtoull(arguments[1], NULL, 10) << 10;
  char* const half = memory_of(length);
  char* const beside = memory_of(BESIDE);
  if (half == MAP_FAILED || beside == MAP_FAILED) return 1;
  size_t* const words = (size_t*)(void*)half;
  for (size_t i = 0; i < length / sizeof *words; ++i) words[i] = i + 1;
  for (int round = 1; round < 4; ++round)
    for (size_t i = 0; i < BESIDE; i += LINE) beside[i] = (char)round;
  if (mprotect(half, length / 2, PROT_READ) != 0) return 2;
  if (mprotect(half, length, PROT_READ | PROT_EXEC) != 0) return 3;
  for (size_t i = 0; i < length / sizeof *words; ++i)
    if (words[i] != i + 1) return 4;
  puts("ok");
}

// Most of near memory is made read-only, as a collector's write barrier makes it, and other memory
// is used in a random order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { page = 4096 };

int main(int count, char** words) {
  if (count != 3) return 2;
  const size_t read_only = (size_t)atoi(words[1]) << 20, used = (size_t)atoi(words[2]) << 20;
  char* const barred =
      mmap(0, read_only, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const others = malloc(used);
  unsigned* const written = calloc(used / page, sizeof *written);
  memset(barred, 1, read_only);
  mprotect(barred, read_only, PROT_READ);
  memset(others, 0, used);
  unsigned random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 1664525 + 1013904223;
    const size_t at = (random >> 8) % (used / page);
    ++written[at];
    ++*(unsigned*)(others + at * page);
  }
  for (size_t i = 0; i < used / page; ++i)
    if (*(unsigned*)(others + i * page) != written[i]) return puts("a write was lost"), 1;
  for (size_t i = 0; i < read_only; i += page)
    if (barred[i] != 1) return puts("read-only memory was lost"), 1;
  mprotect(barred, read_only, PROT_READ | PROT_WRITE);
  memset(barred, 2, read_only);
  memset(others, 3, used);
  for (size_t i = 0; i < read_only; i += page)
    if (barred[i] != 2) return puts("memory that is writable again was lost"), 1;
  puts("ok");
  return 0;
}

/* Binds memory of its own to a node and uses it, beside memory that it does not: none of the first
   ever leaves its place, as mincore tells, while some of the second does. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1024 };

static char* fresh(void) {
  char* at = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
  if (at == MAP_FAILED) exit(1);
  return at;
}

static size_t out(char* at) {
  unsigned char there[PAGES];
  size_t count = 0;
  if (mincore(at, (size_t)PAGES * PAGE, there) != 0) exit(1);
  for (size_t i = 0; i < PAGES; ++i) count += !(there[i] & 1);
  return count;
}

int main(void) {
  enum { BIND = 2 };
  const unsigned long node = 1;
  char* bound = fresh();
  char* other = fresh();
  if (syscall(SYS_mbind, bound, (size_t)PAGES * PAGE, BIND, &node, 8 * sizeof node, 0) != 0) {
    puts("no node 0 to bind memory to here");
    return 0;
  }
  memset(bound, 1, (size_t)PAGES * PAGE);
  memset(other, 1, (size_t)PAGES * PAGE);
  size_t left = 0;
  const struct timespec moment = {.tv_nsec = 100000};
  for (int i = 0; i < 300000 && left < 1000; ++i) {
    left += out(other);
    if (out(bound) != 0) return 2;
    nanosleep(&moment, NULL);
  }
  puts(left == 0 ? "no page left its place" : "ok");
  return 0;
}

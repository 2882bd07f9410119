/* mremap while one thread makes the kernel put it off again and again, and another fills, in order,
 * what lies before it: pages that have been moved must not be taken for ones that were not. */

#include "hazard.h"

enum { BEFORE = 40, MOVED = 1024, TIMES = 60 };

static char* before;
static char* other;
static volatile int stop;

static void* fill_before(void* unused) {
  while (!stop) {
    madvise(before, BEFORE * PAGE, MADV_DONTNEED);
    for (int i = 0; i < BEFORE; ++i) before[i * PAGE] = 1;
  }
  return unused;
}

static void* give_back(void* unused) {
  while (!stop) {
    madvise(other, 16 * PAGE, MADV_DONTNEED);
    usleep(50);
  }
  return unused;
}

int main(void) {
  before = fresh(BEFORE + MOVED);
  char* from = before + BEFORE * PAGE;
  char* to = fresh(MOVED);
  /* Not by its thread: what is moved from is free for a moment, and would be that. */
  other = fresh(16);
  pthread_t threads[2];
  must(pthread_create(&threads[0], NULL, fill_before, NULL) == 0, "pthread_create");
  must(pthread_create(&threads[1], NULL, give_back, NULL) == 0, "pthread_create");
  for (uint64_t i = 1; i <= TIMES; ++i) {
    for (int page = 0; page < MOVED; ++page) fill(from + (size_t)page * PAGE, 1, i);
    must(mremap(from, MOVED * PAGE, MOVED * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
         "mremap");
    for (int page = 0; page < MOVED; ++page) check("moved", to + (size_t)page * PAGE, 1, i);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    must(mmap(from, MOVED * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == from, "mmap");
  }
  stop = 1;
  for (int i = 0; i < 2; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  puts("ok");
  return 0;
}

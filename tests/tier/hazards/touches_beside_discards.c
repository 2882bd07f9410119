/* Threads do nothing but give memory back, which leaves no moment when the kernel has nothing to
 * tell of them. Another one touches pages that lie far again each time, and moves some. Neither
 * they nor it wait for long. */

#include "hazard.h"

#include <time.h>

enum { THREADS = 4, TOUCHED = 2048, MOVED = 64, LOOKS = 4 };

static volatile int stop;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void* give_back(void* unused) {
  char* at = fresh(4);
  while (!stop) {
    const double begun = now();
    must(madvise(at, 4 * PAGE, MADV_DONTNEED) == 0, "madvise");
    must(now() - begun < 2, "giving back took 2 s");
  }
  return unused;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, give_back, NULL) == 0, "pthread_create");
  char* at = fresh(TOUCHED);
  fill(at, TOUCHED, 1);
  char* moved = fresh(MOVED);
  fill(moved, MOVED, 2);
  for (int i = 0; i < LOOKS; ++i) {
    check("far memory", at, TOUCHED, 1);
    char* const to = fresh(MOVED);
    const int how = MREMAP_MAYMOVE | MREMAP_FIXED;
    moved = mremap(moved, (size_t)MOVED * PAGE, (size_t)MOVED * PAGE, how, to);
    must(moved == to, "mremap");
    check("moved memory", moved, MOVED, 2);
  }
  stop = 1;
  for (int i = 0; i < THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  check("far memory", at, TOUCHED, 1);
  puts("ok");
  return 0;
}

/* Threads do nothing but give memory back, which leaves no moment when the kernel has nothing to
 * tell of them. Another one touches pages that must come, and lie far again each time. */

#include "hazard.h"

enum { THREADS = 4, TOUCHED = 2048, LOOKS = 4 };

static volatile int stop;

static void* give_back(void* unused) {
  char* at = fresh(4);
  while (!stop) must(madvise(at, 4 * PAGE, MADV_DONTNEED) == 0, "madvise");
  return unused;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, give_back, NULL) == 0, "pthread_create");
  char* at = fresh(TOUCHED);
  fill(at, TOUCHED, 1);
  for (int i = 0; i < LOOKS; ++i) check("far memory", at, TOUCHED, 1);
  stop = 1;
  for (int i = 0; i < THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  check("far memory", at, TOUCHED, 1);
  puts("ok");
  return 0;
}

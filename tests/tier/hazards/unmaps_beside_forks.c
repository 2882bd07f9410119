/* Forks while more threads unmap memory than there are places for what they ask of the pager. */

#include "hazard.h"

enum { THREADS = 64, FORKS = 10 };

static volatile int stop;

static void* unmap_again(void* unused) {
  /* A mapping that is not managed, so that there is something to ask. */
  const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
  while (!stop) {
    char* at = fresh(16);
    must(mmap(at, 4 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) == at, "mmap");
    at[0] = at[8 * PAGE] = 1;
    must(munmap(at, 16 * PAGE) == 0, "munmap");
    usleep(200);
  }
  return unused;
}

int main(void) {
  char* other = far_block(HELD, 1);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    must(pthread_create(&threads[i], NULL, unmap_again, NULL) == 0, "pthread_create");
  for (int i = 0; i < FORKS; ++i) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) _exit(!holds(other, HELD, 1));
    must(status_of(child) == 0, "a child");
  }
  stop = 1;
  for (int i = 0; i < THREADS; ++i) must(pthread_join(threads[i], NULL) == 0, "pthread_join");
  check("far memory", other, HELD, 1);
  puts("ok");
  return 0;
}

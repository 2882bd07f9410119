/* A thread that has libc's list of streams gives memory back, asks for more and touches that, while
 * another forks, for which libc takes that list. */

#include "hazard.h"

enum { FORKS = 30 };

static FILE* slow;
static volatile int stop;

static ssize_t write_slowly(void* unused, const char* text, size_t bytes) {
  (void)unused;
  (void)text;
  char* at = fresh(HELD);
  fill(at, HELD, 3);
  usleep(2000);
  must(munmap(at, HELD * PAGE) == 0, "munmap");
  at = fresh(HELD);
  check("fresh memory", at, HELD, 0);
  must(madvise(at, HELD * PAGE, MADV_DONTNEED) == 0, "madvise");
  must(munmap(at, HELD * PAGE) == 0, "munmap");
  return (ssize_t)bytes;
}

static void* flush_all(void* unused) {
  while (!stop) {
    must(fputs("x", slow) >= 0 && fflush(NULL) == 0, "fflush");
    usleep(2000); /* else no other thread has the list */
  }
  return unused;
}

int main(void) {
  char* other = far_block(HELD, 1);
  slow = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_slowly});
  must(slow != NULL, "fopencookie");
  pthread_t thread;
  must(pthread_create(&thread, NULL, flush_all, NULL) == 0, "pthread_create");
  for (int i = 0; i < FORKS; ++i) {
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) _exit(!holds(other, HELD, 1));
    must(status_of(child) == 0, "a child");
    usleep(1000);
  }
  stop = 1;
  must(pthread_join(thread, NULL) == 0, "pthread_join");
  check("far memory", other, HELD, 1);
  puts("ok");
  return 0;
}

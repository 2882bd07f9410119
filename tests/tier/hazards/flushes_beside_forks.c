/* A thread that has libc's list of streams gives memory back, while another forks, for which libc
 * takes that list. The child is made afterwards, and must not find what was there. */

#include "hazard.h"

static char* emptied;
static char* emptied_by_number;

static ssize_t write_slowly(void* unused, const char* text, size_t bytes) {
  (void)unused;
  (void)text;
  char* at = fresh(PRESSED);
  fill(at, PRESSED, 3);
  usleep(200000);
  must(munmap(at, (size_t)PRESSED * PAGE) == 0, "munmap");
  must(madvise(emptied, HELD * PAGE, MADV_DONTNEED) == 0, "madvise");
  must(syscall(SYS_madvise, emptied_by_number, HELD * PAGE, MADV_DONTNEED) == 0, "madvise");
  return (ssize_t)bytes;
}

static void* flush_all(void* unused) {
  must(fflush(NULL) == 0, "fflush");
  return unused;
}

static void look_around(const char* other) {
  check("far memory", other, HELD, 1);
  check("memory given back", emptied, HELD, 0);
  check("memory given back by number", emptied_by_number, HELD, 0);
  check("fresh memory", fresh(PRESSED), PRESSED, 0);
}

int main(void) {
  char* other = far_block(HELD, 1);
  emptied = far_block(HELD, 2);
  emptied_by_number = far_block(HELD, 2);
  fill(emptied_by_number, HELD / 2, 2); /* this half is near */
  FILE* slow = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_slowly});
  must(slow != NULL && fputs("x", slow) >= 0, "fopencookie");
  pthread_t thread;
  must(pthread_create(&thread, NULL, flush_all, NULL) == 0, "pthread_create");
  usleep(100000);
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    look_around(other);
    _exit(0);
  }
  must(status_of(child) == 0, "a child");
  must(pthread_join(thread, NULL) == 0, "pthread_join");
  look_around(other);
  puts("ok");
  return 0;
}

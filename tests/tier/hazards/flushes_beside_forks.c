/* A thread that has libc's list of streams unmaps memory, while another forks, for which libc
 * takes that list. */

#include "hazard.h"

static ssize_t write_slowly(void* unused, const char* text, size_t bytes) {
  (void)unused;
  (void)text;
  char* at = fresh(PRESSED);
  fill(at, PRESSED, 3);
  usleep(200000);
  must(munmap(at, (size_t)PRESSED * PAGE) == 0, "munmap");
  return (ssize_t)bytes;
}

static void* flush_all(void* unused) {
  must(fflush(NULL) == 0, "fflush");
  return unused;
}

int main(void) {
  char* other = far_block(HELD, 1);
  FILE* slow = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_slowly});
  must(slow != NULL && fputs("x", slow) >= 0, "fopencookie");
  pthread_t thread;
  must(pthread_create(&thread, NULL, flush_all, NULL) == 0, "pthread_create");
  usleep(100000);
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) _exit(!holds(other, HELD, 1));
  must(status_of(child) == 0, "a child");
  must(pthread_join(thread, NULL) == 0, "pthread_join");
  check("far memory", other, HELD, 1);
  puts("ok");
  return 0;
}

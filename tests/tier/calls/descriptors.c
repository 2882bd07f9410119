/* Where few descriptors may be open, the low numbers are the program's; and a thread may be
 * cancelled where it closes one. */

#include "../hazards/hazard.h"

#include <sys/resource.h>

static void* close_for_ever(void* unused) {
  for (;;) close(-1);
  return unused;
}

static void must_be_cancelled(void) {
  pthread_t thread;
  must(pthread_create(&thread, NULL, close_for_ever, NULL) == 0, "pthread_create");
  must(pthread_cancel(thread) == 0, "pthread_cancel");
  void* result = NULL;
  alarm(20); /* ends the program if nothing else does */
  must(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED, "pthread_join");
}

int main(int count, char** words) {
  if (count == 2) {
    const struct rlimit few = {.rlim_cur = (rlim_t)atoi(words[1]), .rlim_max = 1024};
    must(setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
    execl("/proc/self/exe", words[0], words[1], "again", NULL);
    must(0, "exec");
  }
  char* at = far_block(HELD, 1);
  for (int i = 3; i < atoi(words[1]) / 2; ++i) must(dup2(1, i) == i, "dup2");
  for (int i = 3; i < atoi(words[1]) / 2; ++i) must(close(i) == 0, "close");
  send_far(at, HELD);
  check("memory", at, HELD, 1);
  must_be_cancelled();
  puts("ok");
  return 0;
}

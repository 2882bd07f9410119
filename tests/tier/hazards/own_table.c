/* Programs that take a table of descriptors of their own, which changes nothing for their only
 * thread, and fork: what is far stays the child's. From one of several threads the fork fails. */

#include "hazard.h"

#include <linux/close_range.h>
#include <sched.h>

static void fork_and_check(char* at, uint64_t seed) {
  int ends[2];
  must(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  must(child >= 0, "fork");
  if (child == 0) {
    char told;
    must(read(ends[0], &told, 1) == 1, "read");
    check("in the child", at, PRESSED, seed);
    _exit(0);
  }
  fill(at, PRESSED, seed + 1);  // what the child may read is not to be used again
  check("in the parent", at, PRESSED, seed + 1);
  must(write(ends[1], "x", 1) == 1, "write");
  int status = 1;
  must(waitpid(child, &status, 0) == child && status == 0, "the child");
}

static void* fork_apart(void* unused) {
  (void)unused;
  must(unshare(CLONE_FILES) == 0, "unshare in a thread");
  const pid_t child = fork();
  if (child == 0) _exit(1);
  must(child == -1 && errno == EAGAIN, "a fork from a table apart");
  return NULL;
}

int main(void) {
  char* at = fresh(PRESSED);
  fill(at, PRESSED, 1);
  fork_and_check(at, 1);
  must(close_range(100, ~0U, CLOSE_RANGE_UNSHARE) == 0, "close_range");
  fork_and_check(at, 2);
  must(unshare(CLONE_FILES) == 0, "unshare");
  fork_and_check(at, 3);
  pthread_t thread;
  must(pthread_create(&thread, NULL, fork_apart, NULL) == 0, "pthread_create");
  pthread_join(thread, NULL);
  fork_and_check(at, 4);
  puts("ok");
  return 0;
}

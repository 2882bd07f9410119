/* Has many forked children at once, of a parent with more memory than fits: many_children COUNT
 * [DESCRIPTORS]. With fewer descriptors than it takes, fork fails at last and the program goes on.
 */

#include "hazard.h"

#include <sys/resource.h>

enum { MUCH = 8192 };

int main(int count, char** arguments) {
  must(count >= 2, "many_children COUNT [DESCRIPTORS]");
  const int wanted = atoi(arguments[1]);
  char* at = fresh(MUCH);
  fill(at, MUCH, 1);
  if (count == 3) {
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
    limit.rlim_cur = (rlim_t)atoi(arguments[2]);
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
  }
  int gate[2];
  must(pipe(gate) == 0, "pipe");
  int made = 0;
  for (; made < wanted; ++made) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      char end;
      close(gate[1]);
      must(read(gate[0], &end, 1) == 0, "read");
      check("far memory in a child", at, HELD, 1);
      fill(at, 1, 2);
      check("a child's own", at, 1, 2);
      _exit(0);
    }
  }
  if (count == 3) {
    must(made < wanted && errno == EAGAIN, "fork was not refused");
    must(made > 0, "no fork succeeded");
  } else {
    must(made == wanted, "fork");
  }
  close(gate[1]);
  int status;
  for (int i = 0; i < made; ++i) must(wait(&status) > 0 && status == 0, "a child");
  check("the parent's memory", at, MUCH, 1);
  puts("ok");
  return 0;
}

/* A child that no fork of libc has made has none of the managed memory: it dies when it touches
 * it, near or far, rather than finding zeros. It may end as any process. Its parent loses nothing.
 */

#include "hazard.h"

#include <sched.h>

static pid_t by_fork(void) { return (pid_t)syscall(SYS_fork); }
static pid_t by_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

int main(void) {
  pid_t (*const ways[])(void) = {by_fork, by_clone, _Fork};
  char* far_memory = far_block(HELD, 1);
  char* near_memory = fresh(1);
  fill(near_memory, 1, 2);
  for (size_t way = 0; way < 3; ++way) {
    for (int is_far = 0; is_far < 2; ++is_far) {
      const pid_t child = ways[way]();
      must(child >= 0, "a raw fork");
      if (child == 0) {
        const volatile char* at = is_far ? far_memory : near_memory;
        syscall(SYS_exit_group, *at == 0 ? 7 : 8);
      }
      const int status = status_of(child);
      errno = 0;
      must(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "the child did not die");
    }
  }
  const pid_t child = by_clone();
  must(child >= 0, "a raw fork");
  if (child == 0) exit(3);
  const int status = status_of(child);
  errno = 0;
  must(WIFSIGNALED(status) || WEXITSTATUS(status) == 3, "the child's end");
  check("far memory of the parent", far_memory, HELD, 1);
  check("near memory of the parent", near_memory, 1, 2);
  puts("ok");
  return 0;
}

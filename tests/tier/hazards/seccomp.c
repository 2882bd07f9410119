/* A program forbids itself, in one thread (seccomp) or in all (seccomp all), the calls that its
 * memory was set up with. It can still touch what is far. */

#include "hazard.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define FORBID(call)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(int count, char** arguments) {
  const int all = count == 2 && strcmp(arguments[1], "all") == 0;
  char* at = far_block(HELD, 1);
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      FORBID(SYS_userfaultfd),
      FORBID(SYS_openat),
      FORBID(SYS_open),
      FORBID(SYS_clone3),
      FORBID(SYS_socket),
      FORBID(SYS_execve),
      FORBID(SYS_eventfd2),
      FORBID(SYS_pipe2),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all ? SECCOMP_FILTER_FLAG_TSYNC : 0,
               &program) == 0,
       "seccomp");
  check("far memory", at, HELD, 1);
  fill(at, HELD, 2);
  send_far(at, HELD);
  check("far memory, again", at, HELD, 2);
  char* moved = mremap(at, (size_t)HELD * PAGE, (size_t)HELD * PAGE * 2, MREMAP_MAYMOVE);
  must(moved != MAP_FAILED, "mremap");
  check("far memory that was moved", moved, HELD, 2);
  puts("ok");
  return 0;
}

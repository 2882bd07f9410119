/* A program forbids itself, in one thread (seccomp one) or in all (seccomp all), the calls that its
 * memory was set up with, and those that it is kept with; twice, as browsers do. It can still touch
 * what is far, and what it has forbidden itself it cannot do. */

#include "hazard.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#define FORBID(call)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define REFUSE(call)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void must_be_refused(long result, const char* what) {
  if (result == -1 && errno == EPERM) return;
  printf("%s is not refused\n", what);
  fflush(stdout);
  _exit(1);
}

int main(int count, char** arguments) {
  const int all = count == 2 && strcmp(arguments[1], "all") == 0;
  char* at = far_block(HELD, 1);
  const int file = memfd_create("a file", 0);
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
      FORBID(SYS_fcntl),
      REFUSE(SYS_ioctl),
      REFUSE(SYS_pread64),
      REFUSE(SYS_pwrite64),
      REFUSE(SYS_poll),
      REFUSE(SYS_futex),
      REFUSE(SYS_madvise),
      REFUSE(SYS_lseek),
      REFUSE(SYS_fallocate),
      REFUSE(SYS_kill),
      REFUSE(SYS_pidfd_open),
      REFUSE(SYS_clock_gettime),
      REFUSE(SYS_nanosleep),
      REFUSE(SYS_sched_yield),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT, "no filter");
  must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 16) == -1 && errno == EFAULT, "a filter nowhere");
  must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all ? SECCOMP_FILTER_FLAG_TSYNC : 0,
               &program) == 0,
       "seccomp");
  must(all || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "prctl");
  check("far memory", at, HELD, 1);
  fill(at, HELD, 2);
  send_far(at, HELD);
  check("far memory, again", at, HELD, 2);
  char* moved = mremap(at, (size_t)HELD * PAGE, (size_t)HELD * PAGE * 2, MREMAP_MAYMOVE);
  must(moved != MAP_FAILED, "mremap");
  check("far memory that was moved", moved, HELD, 2);
  must(write(file, moved, HELD * PAGE) == HELD * PAGE, "a long write");
  char byte = 0;
  char* code = (char*)((uintptr_t)(void*)main / PAGE * PAGE);
  must_be_refused(ioctl(1, FIONREAD, &byte), "ioctl");
  must_be_refused(pread(0, &byte, 1, 0), "pread64");
  must_be_refused(lseek(0, 0, SEEK_CUR), "lseek");
  must_be_refused(kill(getpid(), 0), "kill");
  must_be_refused(madvise(code, PAGE, MADV_RANDOM), "madvise");
  struct sock_filter last[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), REFUSE(SYS_mincore),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog another = {sizeof last / sizeof last[0], last};
  must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &another) == 0, "prctl");
  must_be_refused(mincore(code, PAGE, (unsigned char*)&byte), "mincore");
  must_be_refused(syscall(SYS_mincore, code, PAGE, &byte), "mincore by number");
  must_be_refused(syscall(SYS_futex, &byte, 1, 0, 0, 0, 0), "futex");
  must_be_refused(syscall(SYS_pidfd_open, getpid(), 0), "pidfd_open");
  puts("ok");
  return 0;
}

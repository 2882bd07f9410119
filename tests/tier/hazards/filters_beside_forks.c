/* Two threads forbid themselves a call again and again, while another forks: its children can do
 * so, too. */

#include "hazard.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>

enum { FORKS = 100 };

static long forbid(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void* forbids(void* unused) {
  (void)unused;
  for (int i = 0; i < FORKS / 4; ++i) must(forbid() == 0, "a filter in a thread");
  return NULL;
}

int main(void) {
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  char* at = far_block(HELD, 1);
  for (int i = 0; i < FORKS; ++i) {
    pthread_t threads[2];
    for (int j = 0; j < 2; ++j)
      must(pthread_create(&threads[j], NULL, forbids, NULL) == 0, "thread");
    const pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
      alarm(60);
      must(forbid() == 0, "a filter in a child");
      must(socket(1, 1, 0) == -1 && errno == EPERM, "what a child has forbidden itself");
      check("far memory in a child", at, HELD, 1);
      _exit(0);
    }
    for (int j = 0; j < 2; ++j) must(pthread_join(threads[j], NULL) == 0, "join");
    must(status_of(child) == 0, "a child");
  }
  puts("ok");
  return 0;
}

/* A child reads and writes its parent's far memory, as debuggers do. */

#include "hazard.h"

#include <sys/uio.h>

static void look_at(pid_t process, char* at, uint64_t seed) {
  char* copy = fresh(HELD);
  const struct iovec here = {copy, (size_t)HELD * PAGE};
  const struct iovec there = {at, (size_t)HELD * PAGE};
  must(process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len,
       "process_vm_readv");
  check("what another process has", copy, HELD, seed);
  fill(copy, HELD, seed + 1);
  must(process_vm_writev(process, &here, 1, &there, 1, 0) == (ssize_t)here.iov_len,
       "process_vm_writev");
}

int main(void) {
  char* at = far_block(HELD, 1);
  char* own = far_block(HELD, 5);
  look_at(getpid(), own, 5);
  check("memory that its own process wrote to by a system call", own, HELD, 6);
  send_far(at, HELD);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    look_at(parent, at, 1);
    check("the child's own", at, HELD, 1);
    _exit(0);
  }
  must(status_of(child) == 0, "the child");
  check("memory that another process wrote to", at, HELD, 2);
  puts("ok");
  return 0;
}

/* Programs close descriptors that they did not open, in every way that there is. */

#include "hazard.h"

#include <linux/close_range.h>

static char* at;

static void still_there(const char* how) {
  send_far(at, HELD);
  check(how, at, HELD, 1);
}

int main(void) {
  at = far_block(HELD, 1);
  for (int i = 3; i < 2048; ++i) close(i);
  still_there("after close");
  must(close_range(3, ~0U, 0) == 0, "close_range");
  still_there("after close_range");
  closefrom(3);
  still_there("after closefrom");
  must(syscall(SYS_close_range, 3, ~0U, 0) == 0, "close_range by syscall");
  still_there("after syscall(SYS_close_range)");
  for (int i = 3; i < 2048; ++i) syscall(SYS_close, i);
  still_there("after syscall(SYS_close)");
  for (int i = 800; i < 1000; ++i) dup2(1, i);
  for (int i = 800; i < 1000; ++i) syscall(SYS_dup2, 1, i);
  for (int i = 800; i < 1000; ++i) syscall(SYS_dup3, 1, i, 0);
  still_there("after dup2");
  must(close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0, "close_range for an exec");
  still_there("after a close_range for an exec");
  must(daemon(1, 1) == 0, "daemon");
  still_there("in a daemon");
  puts("ok");
  return 0;
}

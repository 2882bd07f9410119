#include "tier/tree/wake_pipe.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include "tier/os/system.h"

namespace nearfar::tier {

void WakePipe::listen() {
  if (pipe_ < 0) return;
  if (epoll_ >= 0) os::call(__NR_close, epoll_);  // the parent's, which goes on using its own
  const long made = os::call(__NR_epoll_create1, EPOLL_CLOEXEC);
  if (made < 0) os::fail("no descriptors left", made);
  epoll_ = os::hide(static_cast<int>(made));
  epoll_event edge{};
  edge.events = EPOLLIN | EPOLLET;
  const long added = os::call(__NR_epoll_ctl, epoll_, EPOLL_CTL_ADD, pipe_, os::word(&edge));
  if (added < 0) os::fail("the pipe that wakes the tree's pagers cannot be watched", added);
}

void WakePipe::wake_all() const {
  if (pipe_ < 0) return;
  const char one = 0;
  if (os::call(__NR_write, pipe_, os::word(&one), sizeof one) != -EAGAIN) return;
  char seen[4096];  // the pipe is full of bytes that have woken every pager
  os::call(__NR_read, pipe_, os::word(seen), sizeof seen);
  os::call(__NR_write, pipe_, os::word(&one), sizeof one);
}

void WakePipe::acknowledge() const {
  epoll_event edge{};
  os::call(__NR_epoll_wait, epoll_, os::word(&edge), 1, 0);
}

}  // namespace nearfar::tier

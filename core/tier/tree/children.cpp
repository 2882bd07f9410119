#include "tier/tree/children.h"

#include <fcntl.h>
#include <sys/epoll.h>

namespace nearfar::tier {
namespace {

void close_one(int& descriptor) {
  if (descriptor >= 0) os::call(__NR_close, descriptor);
  descriptor = -1;
}

}  // namespace

/// Makes the epoll that waits for all children at once. Returns false if no descriptor is left.
bool Children::listen() {
  if (epoll_ >= 0) return true;
  const long made = os::call(__NR_epoll_create1, EPOLL_CLOEXEC);
  if (made >= 0) epoll_ = os::hide(static_cast<int>(made));
  return made >= 0;
}

Children::Child* Children::prepare() {
  if (places_ == nullptr) places_ = os::pointer<Child>(os::reserve(most * sizeof(Child)));
  if (places_ == nullptr || !listen()) return nullptr;
  std::size_t place = 0;
  while (place < used_ && places_[place].alive >= 0) ++place;
  int ends[2] = {-1, -1};
  if (place == most || os::call(__NR_pipe2, os::word(ends), O_CLOEXEC) < 0) return nullptr;
  Child& child = places_[place];
  child = {};
  child.alive = os::hide(ends[0]);
  child.held = os::hide(ends[1]);
  epoll_event hung_up{};  // EPOLLHUP is always reported
  hung_up.data.u64 = place;
  if (os::call(__NR_epoll_ctl, epoll_, EPOLL_CTL_ADD, child.alive, os::word(&hung_up)) < 0) {
    remove(child);
    return nullptr;
  }
  if (place == used_) ++used_;
  return &child;
}

Children::Child* Children::waiting() {
  for (std::size_t i = 0; i < used_; ++i)
    if (places_[i].alive >= 0 && places_[i].waits) return &places_[i];
  return nullptr;
}

Children::Child* Children::ended() {
  epoll_event hung_up{};
  if (epoll_ < 0 || os::call(__NR_epoll_wait, epoll_, os::word(&hung_up), 1, 0) != 1)
    return nullptr;
  return &places_[hung_up.data.u64];
}

void Children::forked(Child& child) { close_one(child.held); }

void Children::keep_only(const Child* self) {
  close_one(own_end_);  // the parent's, which must hang up as soon as the parent ends
  close_one(epoll_);  // the parent's, which goes on using its own
  for (std::size_t i = 0; i < used_; ++i) {
    if (&places_[i] == self) {
      own_end_ = places_[i].held;
      places_[i].held = -1;
    }
    remove(places_[i]);
  }
  used_ = 0;
}

void Children::remove(Child& child) {
  // No event any more, even if a child that was made by a system call holds a copy of the
  // descriptor.
  if (epoll_ >= 0 && child.alive >= 0)
    os::call(__NR_epoll_ctl, epoll_, EPOLL_CTL_DEL, child.alive, 0);
  close_one(child.alive);
  close_one(child.held);
  if (child.shared != nullptr) os::unmap(os::place(child.shared), child.capacity * sizeof(Slot));
  child = {};
}

}  // namespace nearfar::tier

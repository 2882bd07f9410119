#include "tier/service/pager_lock.h"

namespace nearfar::tier {

void PagerLock::start() {
  lock_.free_in_child();
  copies_awaited_.store(0);
  sleepers_.store(0);
}

void PagerLock::lock_for_fault() {
  constexpr std::uint64_t longest_ns = 3'000'000;  // if no more room is made
  const std::uint32_t seen = rooms_made_.load();
  if (lock_.lock_unless_for_long()) return;
  os::wait_for(rooms_made_, seen, longest_ns);
  lock_.lock_soon();
}

void PagerLock::unlock_after_making_room(int threads) {
  lock_.unlock();
  rooms_made_.fetch_add(1);
  os::wake(rooms_made_, threads);
}

void PagerLock::leave_copy() {
  if (sleepers_.load() == 0) return;
  sleepers_.store(0);
  copies_left_.fetch_add(1);
  os::wake_all(copies_left_);
}

}  // namespace nearfar::tier

#pragma once

#include <atomic>
#include <cstdint>

#include "tier/pager/in_flight.h"
#include "tier/service/lock.h"

namespace nearfar::tier {

/// One thread at a time calls the pager: the one that holds this lock. But single far pages are
/// copied to their places by several threads beside each other, without it. Before anything else is
/// done, these copies must be complete.
///
/// The lock is held across no call that waits for the program.
class PagerLock {
 public:
  /// Free, also in a forked child.
  void start();

  [[nodiscard]] Lock& lock() { return lock_; }

  /// Takes the lock for a fault in a signal handler. While another thread makes room, this one
  /// sleeps until that is over: a page that leaves has to be told to every processor that runs the
  /// program, so evicting takes longer than the rest.
  void lock_for_fault();
  /// Gives the lock back after room was made, and wakes as many threads as there are processors
  /// for, those first that have slept longest. Any more would only take the processors from each
  /// other.
  void unlock_after_making_room(int threads);
  /// Returns at a moment when no thread holds the lock. A tracer may stop the calling thread at any
  /// time, so it must not hold the lock itself.
  void wait_until_free() { lock_.wait_until_free(); }

  /// Whether a copy may begin: no thread waits for those that have begun.
  [[nodiscard]] bool may_copy() const { return copies_awaited_.load() == 0; }
  /// The calling thread has ended a copy, and looks at it no more.
  void leave_copy();
  /// Lets copies end whose threads need the lock for that; `complete` has the pager finish those
  /// that are over. The caller holds the lock before and after.
  template <typename Complete>
  void wait_for_copies(const InFlight& copies, const Complete& complete);

 private:
  /// A thread that is over may not get to run to say so.
  static constexpr std::uint64_t longest_sleep_ns = 1'000'000;

  Lock lock_{};
  std::atomic<std::uint32_t> copies_awaited_{0};  // by so many threads
  std::atomic<std::uint32_t> sleepers_{0};  // not 0: some of these sleep
  std::atomic<std::uint32_t> copies_left_{0};  // times that a copy was left while they did
  std::atomic<std::uint32_t> rooms_made_{0};  // times
};

template <typename Complete>
void PagerLock::wait_for_copies(const InFlight& copies, const Complete& complete) {
  complete();
  if (!copies.any()) return;
  copies_awaited_.fetch_add(1);
  while (copies.any()) {
    lock_.unlock();
    for (int i = 0; i < Lock::spins && copies.any_unfinished(); ++i) __builtin_ia32_pause();
    const std::uint32_t seen = copies_left_.load();
    sleepers_.store(1);
    if (copies.any_unfinished()) os::wait_for(copies_left_, seen, longest_sleep_ns);
    lock_.lock_soon();
    complete();
  }
  copies_awaited_.fetch_sub(1);
}

}  // namespace nearfar::tier

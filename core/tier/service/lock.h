#pragma once

#include <atomic>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// A mutex without libc, all zeros when free, for `std::lock_guard`.
class Lock {
 public:
  /// For so many a thread looks whether something is over that takes less than to sleep and wake.
  static constexpr int looks = 1000;

  /// Who has slept does not know whether others sleep, and has one of them woken in its turn.
  void lock() {
    if (try_lock()) return;
    for (;;) {
      const std::uint32_t before = word_.fetch_or(held | waited_for);
      if ((before & held) == 0) return;
      os::wait(word_, before | held | waited_for);
    }
  }
  /// Looks for a while before it waits, unless who has it holds it for long.
  void lock_soon() {
    if (!lock_unless_for_long()) lock();
  }
  /// The same, but does not wait for who holds it for long: false then.
  [[nodiscard]] bool lock_unless_for_long() {
    for (int i = 0; i < looks; ++i) {
      const std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen == free && try_lock()) return true;
      if ((seen & for_long) != 0) return false;
      __builtin_ia32_pause();
    }
    lock();
    return true;
  }
  [[nodiscard]] bool try_lock() {
    std::uint32_t seen = free;
    return word_.compare_exchange_strong(seen, held);
  }
  /// For who has it: others need not look when that is over.
  void hold_for_long() { word_.fetch_or(for_long); }
  /// In a forked child, whose other threads are not there any more.
  void free_in_child() { word_.store(free); }
  void unlock() {
    if ((word_.exchange(free) & waited_for) != 0) os::wake_one(word_);
  }

 private:
  static constexpr std::uint32_t free = 0;
  // A bit each, the others only with the first.
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t waited_for = 2;  // by somebody who sleeps
  static constexpr std::uint32_t for_long = 4;
  std::atomic<std::uint32_t> word_;
};

}  // namespace nearfar::tier

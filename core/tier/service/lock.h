#pragma once

#include <atomic>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// A mutex without libc, all zeros when free, for `std::lock_guard`.
class Lock {
 public:
  /// How often a thread checks for the end of something that takes less time than to sleep and to
  /// be woken.
  static constexpr int spins = 1000;

  /// A thread that has slept cannot know whether others sleep, so its `unlock` wakes one of them.
  void lock() {
    if (try_lock()) return;
    for (;;) {
      const std::uint32_t before = word_.fetch_or(held | waited_for);
      if ((before & held) == 0) return;
      os::wait(word_, before | held | waited_for);
    }
  }
  /// Spins before it sleeps, unless the lock is held for long.
  void lock_soon() {
    if (!lock_unless_for_long()) lock();
  }
  /// The same, but returns false, without the lock, if it is held for long.
  [[nodiscard]] bool lock_unless_for_long() {
    for (int i = 0; i < spins; ++i) {
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
  /// For the holder: other threads need not spin until it is free.
  void hold_for_long() { word_.fetch_or(for_long); }
  /// In a forked child, which has no other threads yet.
  void free_in_child() { word_.store(free); }
  /// Returns at a moment when no thread holds it, without holding it.
  void wait_until_free() {
    std::uint32_t seen = word_.load();
    while ((seen & held) != 0) {
      const bool told = (seen & waited_for) != 0;
      if (!told && !word_.compare_exchange_strong(seen, seen | waited_for)) continue;
      os::wait(word_, seen | waited_for);
      os::wake_one(word_);  // the wake-up may have been meant for a thread that wants the lock
      seen = word_.load();
    }
  }
  void unlock() {
    if ((word_.exchange(free) & waited_for) != 0) os::wake_one(word_);
  }

 private:
  static constexpr std::uint32_t free = 0;
  // A bit each, the others only with the first.
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t waited_for = 2;  // by a thread that sleeps
  static constexpr std::uint32_t for_long = 4;
  std::atomic<std::uint32_t> word_;
};

}  // namespace nearfar::tier

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

  void lock() {
    if (try_lock()) return;
    waiters_.fetch_add(1);
    while (!try_lock()) {
      const std::uint32_t seen = word_.load();
      if (seen != free) os::wait(word_, seen);
    }
    waiters_.fetch_sub(1);
  }
  /// Looks for a while before it waits, unless who has it holds it for long.
  void lock_soon() {
    for (int i = 0; i < looks; ++i) {
      const std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen == free && try_lock()) return;
      if (seen == held_for_long) break;
      __builtin_ia32_pause();
    }
    lock();
  }
  [[nodiscard]] bool try_lock() {
    std::uint32_t seen = free;
    return word_.compare_exchange_strong(seen, held);
  }
  /// For who has it: others need not look when that is over.
  void hold_for_long() { word_.store(held_for_long); }
  /// In a forked child, whose other threads are not there any more.
  void free_in_child() {
    word_.store(free);
    waiters_.store(0);
  }
  /// Who comes to wait counts itself before it looks at the word, which is freed here before
  /// anybody is counted: one of the two sees the other.
  void unlock() {
    word_.store(free);
    if (waiters_.load() != 0) os::wake_one(word_);
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t held_for_long = 2;
  std::atomic<std::uint32_t> word_;
  std::atomic<std::uint32_t> waiters_;
};

}  // namespace nearfar::tier

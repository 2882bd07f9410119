#pragma once

#include <atomic>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// A mutex without libc, all zeros when free, for `std::lock_guard`.
class Lock {
 public:
  void lock() {
    if (try_lock()) return;
    while (word_.exchange(contended) != free) os::wait(word_, contended);
  }
  /// Looks for a while before it waits: for what is held for less than a thread takes to wake.
  void lock_soon() {
    constexpr int looks = 200;
    for (int i = 0; i < looks; ++i) {
      if (word_.load(std::memory_order_relaxed) == free && try_lock()) return;
      __builtin_ia32_pause();
    }
    lock();
  }
  [[nodiscard]] bool try_lock() {
    std::uint32_t seen = free;
    return word_.compare_exchange_strong(seen, held);
  }
  /// In a forked child, whose other threads are not there any more.
  void free_in_child() { word_.store(free); }
  void unlock() {
    if (word_.exchange(free) == contended) os::wake_all(word_);
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t contended = 2;
  std::atomic<std::uint32_t> word_;
};

}  // namespace nearfar::tier

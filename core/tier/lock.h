#pragma once

#include <atomic>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// A mutex without libc, all zeros when free, for `std::lock_guard`.
class Lock {
 public:
  void lock() {
    std::uint32_t seen = free;
    if (word_.compare_exchange_strong(seen, held)) return;
    while (word_.exchange(contended) != free) os::wait(word_, contended);
  }
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

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// What threads give back while another forks. The pager follows that only when the fork is over,
/// but who has given it back goes on at once, and the child may be made after it has: so it is
/// noted beforehand, where the child finds it.
class ForkDiscards {
 public:
  static constexpr std::size_t most = 1024;

  /// Before a fork, while nobody notes anything.
  void clear() { count_.store(0); }
  /// By any thread, before it gives them back. False if there are too many.
  [[nodiscard]] bool add(std::uint32_t fork, os::Place begin, os::Place end) {
    const std::size_t i = count_.fetch_add(1);
    if (i >= most) return false;
    discards_[i].begin = begin;
    discards_[i].end = end;
    discards_[i].fork.store(fork);  // last: a child may find half of it
    return true;
  }
  /// In the child, what it is to follow.
  template <typename Follow>
  void each(std::uint32_t fork, const Follow& follow) const {
    for (std::size_t i = 0; i < std::min(count_.load(), most); ++i)
      if (discards_[i].fork.load() == fork) follow(discards_[i].begin, discards_[i].end);
  }

 private:
  struct Discard {
    os::Place begin;
    os::Place end;
    std::atomic<std::uint32_t> fork;
  };

  std::atomic<std::size_t> count_{0};
  std::array<Discard, most> discards_{};
};

}  // namespace nearfar::tier

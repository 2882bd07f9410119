#pragma once

#include <algorithm>
#include <cstdint>

namespace nearfar::tier {

/// How long something that was done in vain is not done again: at least ten times as long as it
/// took, and twice as long each time in a row, up to a second or those ten times.
class Backoff {
 public:
  explicit constexpr Backoff(std::uint64_t first_ns) : first_ns_(first_ns) {}

  [[nodiscard]] bool waits() const { return until_ != 0; }
  [[nodiscard]] bool is_over(std::uint64_t now_ns) const { return now_ns >= until_; }
  void fail(std::uint64_t now_ns, std::uint64_t took_ns = 0) {
    constexpr std::uint64_t times = 10;
    constexpr std::uint64_t longest_ns = 1'000'000'000;
    const std::uint64_t least = std::max(first_ns_, times * took_ns);
    wait_ns_ = std::max(least, std::min(2 * wait_ns_, longest_ns));
    until_ = now_ns + wait_ns_;
  }
  void succeed() { until_ = wait_ns_ = 0; }

 private:
  std::uint64_t first_ns_;
  std::uint64_t until_ = 0;  // 0: it was not in vain
  std::uint64_t wait_ns_ = 0;
};

}  // namespace nearfar::tier

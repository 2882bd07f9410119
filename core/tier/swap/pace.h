#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace nearfar::tier::swap {

/// How often a monitor looks, and how much near memory it keeps free for what comes in until the
/// next time.
///
/// The room kept free is twice the most pages that came in between two looks, a figure that fades
/// by an eighth a look; at least 1/32 of near memory and at most 1/4. Below that room pages are
/// taken out until a further 1/32 is free.
///
/// The pause is 1 ms while pages come in, and doubles up to 32 ms while none do. Reading counters
/// takes at most a fifth of a CPU, and looking at page tables another: each has to wait four times
/// as long as it took.
class Pace {
 public:
  using Duration = std::chrono::nanoseconds;
  static constexpr Duration shortest = std::chrono::milliseconds(1);
  static constexpr Duration longest = std::chrono::milliseconds(32);
  static constexpr int pause_over_work = 4;

  /// Since the last time so many pages have come in.
  void came(std::uint64_t pages) {
    inflow_ = std::max(pages, inflow_ - (inflow_ + 7) / 8);
    pause_ = pages != 0 ? shortest : std::min(2 * pause_, longest);
  }

  [[nodiscard]] std::uint64_t room(std::uint64_t limit) const {
    return std::clamp(2 * inflow_, limit / 32, limit / 4);
  }
  /// How many of `near` pages should leave, of which there may be `limit`.
  [[nodiscard]] std::uint64_t excess(std::uint64_t near, std::uint64_t limit) const {
    const std::uint64_t high = limit - room(limit);
    return near > high ? near - (high - limit / 32) : 0;
  }
  [[nodiscard]] Duration pause(Duration reading) const {
    return std::max(pause_, pause_over_work * reading);
  }
  [[nodiscard]] static Duration between_looks(Duration looking) {
    return pause_over_work * looking;
  }

 private:
  std::uint64_t inflow_ = 0;
  Duration pause_ = shortest;
};

}  // namespace nearfar::tier::swap

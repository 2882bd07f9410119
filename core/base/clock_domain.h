#pragma once

#include <cstdint>

#include "base/tick.h"

namespace nearfar {

/// A clock whose period is a whole number of picoseconds, as JEDEC devices have.
class ClockDomain {
 public:
  constexpr explicit ClockDomain(Tick period) : period_(period) {}

  [[nodiscard]] constexpr Tick period() const { return period_; }
  [[nodiscard]] constexpr Tick cycles(std::uint64_t n) const { return period_ * n; }

  /// The first edge at or after `time`.
  [[nodiscard]] constexpr Tick edge_at_or_after(Tick time) const {
    const std::uint64_t remainder = time.ps() % period_.ps();
    return remainder == 0 ? time : time + Tick(period_.ps() - remainder);
  }

 private:
  Tick period_;
};

}  // namespace nearfar

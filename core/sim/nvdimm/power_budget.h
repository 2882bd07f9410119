#pragma once

#include <cmath>
#include <cstdint>

#include "base/archive.h"
#include "base/tick.h"

namespace nearfar::sim::nvdimm {

/// The average power that a DIMM may draw beyond its idle power.
///
/// Everything drawn takes its time out of the budget. Accesses to the media wait until all that
/// was drawn before is paid for; what serves them (SRAM, DRAM) draws when it has to, and they
/// wait for that too. What was not drawn is saved up, but for no longer than a window: the
/// average is taken over no more. So from time 0 on the DIMM is never more than one access and
/// what it entails ahead of its budget.
class PowerBudget {
 public:
  PowerBudget() = default;  ///< without a limit
  explicit PowerBudget(double milliwatts, Tick window = {})
      : milliwatts_(milliwatts), window_(window) {}

  /// Time in which the budget pays for so much, no less; 1 pJ at 1 mW is 1 ns.
  [[nodiscard]] Tick time_for(double picojoules) const {
    if (milliwatts_ <= 0) return Tick{};
    return Tick(static_cast<std::uint64_t>(std::ceil(picojoules / milliwatts_ * 1e3)));
  }

  /// When all that was drawn is paid for.
  [[nodiscard]] Tick paid() const { return paid_; }
  void draw(Tick time, Tick now) {
    paid_ = max(paid_, now > window_ ? now - window_ : Tick{}) + time;
  }

  void state(Archive& archive) { archive(paid_); }

 private:
  double milliwatts_ = 0;
  Tick window_{};
  Tick paid_{};
};

}  // namespace nearfar::sim::nvdimm

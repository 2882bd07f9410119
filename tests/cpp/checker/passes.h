#pragma once

#include <cstddef>
#include <optional>

#include "checker.h"

namespace nearfar::checker {

/// Collects what the passes find, leaving out the rules that are switched off.
class Report {
 public:
  Report(std::uint64_t clock_ps, RuleSet rules) : clock_ps_(clock_ps), rules_(rules) {}

  void violate(Rule rule, std::size_t at, std::optional<std::size_t> earlier = {}) {
    if (rules_.has(rule)) findings_.violations.push_back({rule, at, earlier});
  }

  /// Demands found >= clocks.
  void at_least(Rule rule, std::size_t at, std::optional<std::size_t> earlier,
                std::uint64_t found_ps, std::uint64_t clocks) {
    judge(rule, at, earlier, found_ps, clocks, found_ps < clocks * clock_ps_);
  }

  /// Demands found <= clocks.
  void at_most(Rule rule, std::size_t at, std::optional<std::size_t> earlier,
               std::uint64_t found_ps, std::uint64_t clocks) {
    judge(rule, at, earlier, found_ps, clocks, found_ps > clocks * clock_ps_);
  }

  /// All that was found, in the order of the trace.
  [[nodiscard]] Findings take();

 private:
  void judge(Rule rule, std::size_t at, std::optional<std::size_t> earlier, std::uint64_t found_ps,
             std::uint64_t clocks, bool broken) {
    if (!rules_.has(rule)) return;
    if (broken) {
      findings_.violations.push_back({rule, at, earlier, found_ps / clock_ps_, clocks});
    } else if (found_ps == clocks * clock_ps_) {
      ++findings_.tight[static_cast<std::size_t>(rule)];
    }
  }

  std::uint64_t clock_ps_;
  RuleSet rules_;
  Findings findings_;
};

/// Order, clock edges, one command per clock, addresses that exist.
void check_bus(const Trace& trace, const Limits& limits, Report& report);
/// Every distance between two commands, tFAW, implied precharges, the data bus.
void check_distances(const Trace& trace, const Limits& limits, Report& report);
/// Open rows, power-down, self refresh.
void check_states(const Trace& trace, const Limits& limits, Report& report);
/// Refresh intervals.
void check_refresh(const Trace& trace, const Limits& limits, Report& report);

}  // namespace nearfar::checker

#pragma once

#include <string>
#include <vector>

#include "limits.h"
#include "rules.h"
#include "trace.h"

namespace nearfar::checker {

/// Two traces that differ by as little as can be: the first obeys every rule, the second
/// breaks one rule and no other. For a distance that is one clock, and the first trace has
/// nothing to spare.
struct Scenario {
  std::string title;
  Rule rule;
  Limits limits;
  Trace legal;
  Trace broken;
};

/// DDR4-2666V, 8 Gbit x8, two ranks: as clocks in writing, so that no code stands between
/// the standard and the scenarios.
[[nodiscard]] Limits ddr4_2666v();

/// DDR5-4800B, 16 Gbit x8, two ranks, fine granularity.
[[nodiscard]] Limits ddr5_4800b();

/// Scenarios for what is DDR5's, written with the numbers of ddr5_4800b(): distances, then
/// states and refresh.
[[nodiscard]] std::vector<Scenario> ddr5_distance_scenarios();
[[nodiscard]] std::vector<Scenario> ddr5_state_scenarios();

/// Scenarios for rules about two commands' distance, written with the numbers of
/// ddr4_2666v().
[[nodiscard]] std::vector<Scenario> distance_scenarios();
/// Scenarios for rules about states, addresses, the command bus.
[[nodiscard]] std::vector<Scenario> state_scenarios();
/// Scenarios for refresh intervals.
[[nodiscard]] std::vector<Scenario> refresh_scenarios();

}  // namespace nearfar::checker

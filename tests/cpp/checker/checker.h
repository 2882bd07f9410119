#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limits.h"
#include "rules.h"
#include "trace.h"

namespace nearfar::checker {

/// A rule broken by one command, alone or with an earlier one.
struct Violation {
  Rule rule;
  std::size_t at = 0;                    ///< index of the command in the trace
  std::optional<std::size_t> earlier{};  ///< index of the command it conflicts with
  std::uint64_t found = 0;               ///< clocks, for rules about distances
  std::uint64_t required = 0;            ///< clocks
};

struct Findings {
  std::vector<Violation> violations;
  /// How often each rule held with nothing to spare: one clock less (or, for the upper
  /// bounds on refresh, one more) would break it. Rules about states have no such notion.
  std::array<std::uint64_t, rule_count> tight{};

  [[nodiscard]] bool passes() const { return violations.empty(); }
  [[nodiscard]] RuleSet broken() const;
  [[nodiscard]] std::uint64_t tight_count(Rule rule) const {
    return tight[static_cast<std::size_t>(rule)];
  }
};

/// Judges the trace of one DDR4 channel or DDR5 subchannel, from power-up at time 0, against
/// JESD79-4 or JESD79-5.
///
/// Written from the standard and by another method than a scheduler's: no "next allowed
/// time" is kept. Each command is compared with every command before it, as far back as
/// the longest distance in the table reaches; only open rows, CKE and refresh counts are
/// replayed, for they have no bounded history.
[[nodiscard]] Findings check(const Trace& trace, const Limits& limits,
                             RuleSet rules = RuleSet::all());

/// One line for people: rule, both commands, the distance found and required.
[[nodiscard]] std::string describe(const Violation& violation, const Trace& trace);

}  // namespace nearfar::checker

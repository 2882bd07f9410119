#include "checker.h"

#include <algorithm>
#include <utility>

#include "passes.h"

namespace nearfar::checker {
namespace {

std::string described(const BusCommand& c) {
  std::string text(name(c.command));
  text += " rank " + std::to_string(c.rank);
  const bool whole_rank =
      c.command == Command::prea || c.command == Command::ref || c.command >= Command::pde;
  if (c.command == Command::refsb) {
    text += " bank " + std::to_string(c.bank);
  } else if (!whole_rank) {
    text += " group " + std::to_string(c.bank_group) + " bank " + std::to_string(c.bank);
  }
  if (c.row) text += " row " + std::to_string(*c.row);
  if (c.column) text += " column " + std::to_string(*c.column);
  return text + " at " + std::to_string(c.ps) + " ps";
}

}  // namespace

Findings Report::take() {
  std::stable_sort(findings_.violations.begin(), findings_.violations.end(),
                   [](const Violation& a, const Violation& b) { return a.at < b.at; });
  return std::move(findings_);
}

RuleSet Findings::broken() const {
  RuleSet rules;
  for (const Violation& violation : violations) rules.add(violation.rule);
  return rules;
}

Findings check(const Trace& trace, const Limits& limits, RuleSet rules) {
  Report report(limits.clock_ps, rules);
  check_bus(trace, limits, report);
  check_distances(trace, limits, report);
  check_states(trace, limits, report);
  check_refresh(trace, limits, report);
  return report.take();
}

std::string describe(const Violation& violation, const Trace& trace) {
  std::string text(name(violation.rule));
  text += ": " + described(trace[violation.at]);
  if (violation.earlier) text += ", after " + described(trace[*violation.earlier]);
  if (violation.required != 0) {
    text += ": " + std::to_string(violation.found) + " clocks, limit " +
            std::to_string(violation.required);
  }
  return text;
}

}  // namespace nearfar::checker

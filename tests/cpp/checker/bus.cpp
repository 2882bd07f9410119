#include "passes.h"

namespace nearfar::checker {
namespace {

// PDE, PDX and SRX are a deselect (CS_n high) with CKE moving (JESD79-4, CKE truth table):
// other ranks may be commanded in the same clock.
bool drives_chip_select(Command command) {
  return command != Command::pde && command != Command::pdx && command != Command::srx;
}

void check_address(const BusCommand& c, std::size_t at, const Limits& limits, Report& report) {
  if (c.rank >= limits.ranks) report.violate(Rule::rank_range, at);
  if (c.bank_group >= limits.bank_groups || c.bank >= limits.banks) {
    report.violate(Rule::bank_range, at);
  }
  if (c.row && *c.row >= limits.rows) report.violate(Rule::row_range, at);
  if (c.column && *c.column >= limits.columns) report.violate(Rule::column_range, at);
  if (c.column && *c.column % limits.burst_length != 0) {
    report.violate(Rule::burst_alignment, at);
  }
}

}  // namespace

void check_bus(const Trace& trace, const Limits& limits, Report& report) {
  for (std::size_t at = 0; at < trace.size(); ++at) {
    const BusCommand& c = trace[at];
    check_address(c, at, limits, report);
    if (c.ps % limits.clock_ps != 0) report.violate(Rule::clock_edge, at);
    if (at > 0 && c.ps < trace[at - 1].ps) report.violate(Rule::time_order, at, at - 1);

    // Less than a clock apart, so that a command off its edge does not escape.
    for (std::size_t j = at; j-- > 0;) {
      const BusCommand& e = trace[j];
      if (e.ps > c.ps) continue;
      if (c.ps - e.ps >= limits.clock_ps) break;
      const bool clash =
          e.rank == c.rank || (drives_chip_select(e.command) && drives_chip_select(c.command));
      if (clash) report.violate(Rule::command_bus, at, j);
    }
  }
}

}  // namespace nearfar::checker

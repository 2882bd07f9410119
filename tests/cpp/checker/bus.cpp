#include "passes.h"

namespace nearfar::checker {
namespace {

// PDE, PDX and SRX are a deselect (CS_n high) with CKE moving (JESD79-4, CKE truth table):
// other ranks may be commanded in the same clock. DDR5 has no CKE: each is a command (JESD79-5,
// command truth table).
bool drives_chip_select(Command command, const Limits& limits) {
  if (limits.ddr5) return true;
  return command != Command::pde && command != Command::pdx && command != Command::srx;
}

// ACT, RD and WR of DDR5 are spread over two clocks (JESD79-5, command truth table).
std::uint64_t clocks_on_bus(Command command, const Limits& limits) {
  const bool spread = command == Command::act || is_read(command) || is_write(command);
  return spread ? limits.longest_command() : 1;
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
    if (c.command == Command::refsb && !limits.ddr5) report.violate(Rule::known_command, at);
    if (at > 0 && c.ps < trace[at - 1].ps) report.violate(Rule::time_order, at, at - 1);

    // Less than its clocks apart, so that a command off its edge does not escape.
    for (std::size_t j = at; j-- > 0;) {
      const BusCommand& e = trace[j];
      if (e.ps > c.ps) continue;
      if (c.ps - e.ps >= limits.longest_command() * limits.clock_ps) break;
      if (c.ps - e.ps >= clocks_on_bus(e.command, limits) * limits.clock_ps) continue;
      const bool clash = e.rank == c.rank || (drives_chip_select(e.command, limits) &&
                                              drives_chip_select(c.command, limits));
      if (clash) report.violate(Rule::command_bus, at, j);
    }
  }
}

}  // namespace nearfar::checker

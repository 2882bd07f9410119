#include <algorithm>

#include "passes.h"

namespace nearfar::checker {
namespace {

bool same_bank(const BusCommand& a, const BusCommand& b) {
  return a.rank == b.rank && a.bank_group == b.bank_group && a.bank == b.bank;
}

bool in_scope(Scope scope, const BusCommand& a, const BusCommand& b) {
  if (a.rank != b.rank) return false;
  switch (scope) {
    case Scope::bank:
      return a.command == Command::prea || b.command == Command::prea || same_bank(a, b);
    case Scope::group:
      return a.bank_group == b.bank_group;
    case Scope::other_group:
      return a.bank_group != b.bank_group;
    case Scope::number:
      return a.bank == b.bank;
    case Scope::rank:
      return true;
  }
  return false;
}

bool is_access(Command command) { return is_read(command) || is_write(command); }

class Distances {
 public:
  Distances(const Trace& trace, const Limits& limits, Report& report)
      : trace_(trace), limits_(limits), report_(report), table_(limits) {
    const std::uint64_t clocks = std::max({table_.longest(), limits.faw, implied_precharge_reach(),
                                           limits.cl + limits.cwl + limits.burst() + limits.rtrs});
    window_ps_ = clocks * limits.clock_ps;
  }

  void check_command(std::size_t at) {
    const BusCommand& later = trace_[at];
    std::uint64_t activates = 0;
    for (std::size_t j = at; j-- > 0;) {
      const BusCommand& earlier = trace_[j];
      if (earlier.ps > later.ps) continue;  // time_order says so
      if (later.ps - earlier.ps > window_ps_) break;
      check_table(at, j);
      check_implied_precharge(at, j);
      check_data_bus(at, j);
      if (later.command == Command::act && earlier.command == Command::act &&
          earlier.rank == later.rank && ++activates == 4) {
        report_.at_least(Rule::tFAW, at, j, later.ps - earlier.ps, limits_.faw);
      }
    }
  }

 private:
  void check_table(std::size_t at, std::size_t j) {
    const BusCommand& later = trace_[at];
    const BusCommand& earlier = trace_[j];
    for (const MinimumDistance& row : table_.between(earlier.command, later.command)) {
      if (in_scope(row.scope, earlier, later)) {
        report_.at_least(row.rule, at, j, later.ps - earlier.ps, row.clocks);
      }
    }
  }

  // Between an ACT and what needs its bank precharged, when an RDA or WRA closes the bank:
  // the implied precharge waits until tRAS is over. That it also waits for tRTP or tWR after
  // the access is in the table.
  void check_implied_precharge(std::size_t at, std::size_t j) {
    const BusCommand& later = trace_[at];
    const BusCommand& access = trace_[j];
    if (access.command != Command::rda && access.command != Command::wra) return;
    const bool next_act = later.command == Command::act && same_bank(access, later);
    const bool of_its_banks = later.command == Command::refsb && later.bank == access.bank;
    const bool next_ref =
        (later.command == Command::ref || later.command == Command::sre || of_its_banks) &&
        later.rank == access.rank;
    if (!next_act && !next_ref) return;
    for (std::size_t k = j; k-- > 0;) {
      const BusCommand& open = trace_[k];
      if (open.ps > later.ps) continue;
      if (later.ps - open.ps > window_ps_) return;
      if (open.command != Command::act || !same_bank(open, access)) continue;
      report_.at_least(next_act ? Rule::AP_tRAS : Rule::AP_tRAS_REF, at, k, later.ps - open.ps,
                       limits_.ras + limits_.rp);
      return;
    }
  }

  // Bursts occupy [command + latency, + BL/2) on wires that all ranks share, whichever
  // command came first.
  void check_data_bus(std::size_t at, std::size_t j) {
    const BusCommand& later = trace_[at];
    const BusCommand& earlier = trace_[j];
    if (!is_access(later.command) || !is_access(earlier.command)) return;
    const std::uint64_t burst_ps = limits_.burst() * limits_.clock_ps;
    const std::uint64_t a = burst_start(earlier);
    const std::uint64_t b = burst_start(later);
    const std::uint64_t first = std::min(a, b);
    const std::uint64_t second = std::max(a, b);
    report_.at_least(Rule::data_bus, at, j, second - first, limits_.burst());
    if (second - first >= burst_ps && earlier.rank != later.rank) {
      report_.at_least(Rule::tRTRS, at, j, second - first - burst_ps, limits_.rtrs);
    }
  }

  [[nodiscard]] std::uint64_t burst_start(const BusCommand& c) const {
    return c.ps + (is_read(c.command) ? limits_.cl : limits_.cwl) * limits_.clock_ps;
  }

  [[nodiscard]] std::uint64_t implied_precharge_reach() const { return limits_.ras + limits_.rp; }

  const Trace& trace_;
  const Limits& limits_;
  Report& report_;
  DistanceTable table_;
  std::uint64_t window_ps_ = 0;
};

}  // namespace

void check_distances(const Trace& trace, const Limits& limits, Report& report) {
  Distances distances(trace, limits, report);
  for (std::size_t at = 0; at < trace.size(); ++at) distances.check_command(at);
}

}  // namespace nearfar::checker

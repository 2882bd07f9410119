#include <optional>
#include <vector>

#include "passes.h"

namespace nearfar::checker {
namespace {

// An open row, and which command opened it.
struct Open {
  std::uint32_t row;
  std::size_t by;
};

enum class Cke : std::uint8_t { high, power_down, self_refresh };

struct Rank {
  std::vector<std::optional<Open>> banks;
  Cke cke = Cke::high;
  std::size_t cke_since = 0;
  std::optional<std::size_t> left_self_refresh{};  // and not refreshed once since
  std::size_t same_bank_refreshes = 0;             // since then
};

class States {
 public:
  States(const Trace& trace, const Limits& limits, Report& report)
      : trace_(trace), limits_(limits), report_(report), ranks_(limits.ranks) {
    for (Rank& rank : ranks_) rank.banks.resize(limits.bank_groups * limits.banks);
  }

  void check_command(std::size_t at) {
    const BusCommand& c = trace_[at];
    if (c.rank >= limits_.ranks || c.bank_group >= limits_.bank_groups || c.bank >= limits_.banks) {
      return;  // the range rules have said so; there is no state to compare with
    }
    Rank& rank = ranks_[c.rank];
    check_cke(at, rank);
    switch (c.command) {
      case Command::act:
        return activate(at, rank);
      case Command::pre:
        return bank(rank, c).reset();
      case Command::prea:
        for (auto& b : rank.banks) b.reset();
        return;
      case Command::rd:
      case Command::wr:
        return access(at, rank);
      case Command::rda:
      case Command::wra:
        access(at, rank);
        return bank(rank, c).reset();
      case Command::ref:
        demand_closed(Rule::ref_open_bank, at, rank);
        rank.left_self_refresh.reset();
        return;
      case Command::refsb:
        demand_set_closed(at, rank);
        if (++rank.same_bank_refreshes == limits_.banks) rank.left_self_refresh.reset();
        return;
      case Command::pde:
        return enter(at, rank, Cke::power_down);
      case Command::sre:
        demand_closed(Rule::sre_open_bank, at, rank);
        demand_refresh(at, rank);
        return enter(at, rank, Cke::self_refresh);
      case Command::pdx:
        return leave(at, rank, Cke::power_down);
      case Command::srx:
        return leave(at, rank, Cke::self_refresh);
    }
  }

 private:
  [[nodiscard]] std::optional<Open>& bank(Rank& rank, const BusCommand& c) const {
    return rank.banks[c.bank_group * limits_.banks + c.bank];
  }

  void check_cke(std::size_t at, const Rank& rank) {
    const Command command = trace_[at].command;
    if (command == Command::pdx || command == Command::srx) return;  // leave() judges them
    if (rank.cke == Cke::power_down) report_.violate(Rule::power_down, at, rank.cke_since);
    if (rank.cke == Cke::self_refresh) report_.violate(Rule::self_refresh, at, rank.cke_since);
  }

  void activate(std::size_t at, Rank& rank) {
    auto& b = bank(rank, trace_[at]);
    if (b) report_.violate(Rule::act_open_bank, at, b->by);
    b = Open{trace_[at].row.value_or(0), at};
  }

  void access(std::size_t at, Rank& rank) {
    const auto& b = bank(rank, trace_[at]);
    if (!b) {
      report_.violate(Rule::access_closed_bank, at);
    } else if (trace_[at].row && *trace_[at].row != b->row) {
      report_.violate(Rule::access_other_row, at, b->by);
    }
  }

  void demand_closed(Rule rule, std::size_t at, const Rank& rank) {
    for (const auto& b : rank.banks) {
      if (b) report_.violate(rule, at, b->by);
    }
  }

  void demand_set_closed(std::size_t at, const Rank& rank) {
    for (std::size_t i = trace_[at].bank; i < rank.banks.size(); i += limits_.banks) {
      if (rank.banks[i]) report_.violate(Rule::ref_open_bank, at, rank.banks[i]->by);
    }
  }

  // A refresh may have been missed as CKE rose, hence "one extra refresh command" before the
  // rank goes back to sleep (JESD79-4, self-refresh operation).
  void demand_refresh(std::size_t at, const Rank& rank) {
    if (rank.left_self_refresh) {
      report_.violate(Rule::ref_after_srx, at, rank.left_self_refresh);
    }
  }

  void enter(std::size_t at, Rank& rank, Cke state) {
    rank.cke = state;
    rank.cke_since = at;
  }

  void leave(std::size_t at, Rank& rank, Cke state) {
    if (rank.cke != state) report_.violate(Rule::exit_without_entry, at);
    if (state == Cke::self_refresh) {
      rank.left_self_refresh = at;
      rank.same_bank_refreshes = 0;
    }
    rank.cke = Cke::high;
  }

  const Trace& trace_;
  const Limits& limits_;
  Report& report_;
  std::vector<Rank> ranks_;
};

}  // namespace

void check_states(const Trace& trace, const Limits& limits, Report& report) {
  States states(trace, limits, report);
  for (std::size_t at = 0; at < trace.size(); ++at) states.check_command(at);
}

}  // namespace nearfar::checker

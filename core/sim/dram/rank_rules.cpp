#include "sim/dram/rank_rules.h"

namespace nearfar::sim::dram {
namespace {

/// Longest time from "refresh now" to REF: waking from a power-down just entered, the last
/// command's recovery, precharge, and a command slot for every rank that wants one too, each
/// behind a command that may take two cycles.
Cycle longest_wait(const Config& config) {
  const Timing& t = config.timing;
  const Cycle recovery =
      std::max<Cycle>({t.ras, t.rtp, Cycle{t.cwl} + t.burst + t.wr, Cycle{t.cl} + t.burst + 1});
  const Cycle slot = config.standard == Standard::ddr4 ? 1 : 2;
  return recovery + t.rp + t.xp + t.cke + slot * (2 * Cycle{config.ranks} + 2);
}

}  // namespace

RankRules::RankRules(const Config& config)
    : refresh_(config.refresh),
      refi_(config.timing.refi),
      postpone_(config.refresh_postpone),
      ahead_(longest_wait(config)),
      stagger_(refi_ / config.ranks),
      powerdown_idle_(config.powerdown_idle),
      selfrefresh_idle_(config.selfrefresh_idle) {}

RankState RankRules::initial(std::uint32_t rank) const {
  RankState state;
  const Cycle early = ahead_ + rank * stagger_;
  state.first_due = refi_ > early ? refi_ - early : 0;
  return state;
}

Cycle RankRules::wants_refresh_at(const RankState& rank) const {
  if (!refresh_) return never;
  const Cycle forced = forced_at(rank);
  if (rank.queued > 0) return forced;
  return std::min(forced, std::max(rank.first_due, rank.idle_since + refresh_idle));
}

Cycle RankRules::wants_selfrefresh_at(const RankState& rank) const {
  if (selfrefresh_idle_ == 0 || rank.queued > 0 || !rank.refreshed) return never;
  return rank.idle_since + selfrefresh_idle_;
}

Cycle RankRules::wants_powerdown_at(const RankState& rank) const {
  if (powerdown_idle_ == 0 || rank.queued > 0) return never;
  return rank.idle_since + powerdown_idle_;
}

std::optional<Command> RankRules::wanted(const RankState& rank, Cycle cycle) const {
  if (rank.power == Power::self_refresh) {
    return rank.queued > 0 ? std::optional(Command::srx) : std::nullopt;
  }
  const bool refresh = cycle >= wants_refresh_at(rank);
  const bool owes = refresh_ && cycle >= rank.first_due;
  const bool selfrefresh = !refresh && !owes && cycle >= wants_selfrefresh_at(rank);
  if (rank.power == Power::down) {
    return rank.queued > 0 || refresh || selfrefresh ? std::optional(Command::pdx) : std::nullopt;
  }
  if (refresh || selfrefresh) {
    if (rank.open_banks > 0) return Command::prea;
    return refresh ? Command::ref : Command::sre;
  }
  if (cycle >= wants_powerdown_at(rank)) return Command::pde;
  return std::nullopt;
}

RankRules::Plan RankRules::plan(const RankState& rank, std::uint32_t index,
                                const DeviceTiming& timing, Cycle from) const {
  const auto no_sooner = [&](Command command, Cycle cycle) {
    return std::max({from, cycle, timing.earliest_for_rank(slot_of(command), index)});
  };
  const auto plan_of = [](Command command, Cycle cycle) { return Plan{cycle, command, false}; };

  if (rank.power == Power::self_refresh) {
    return rank.queued > 0 ? plan_of(Command::srx, no_sooner(Command::srx, 0)) : Plan{};
  }
  const Cycle refresh_at = wants_refresh_at(rank);
  // Self-refresh is wanted in a window: from its threshold until a refresh falls due.
  const Cycle owes_at = refresh_ ? rank.first_due : never;
  const Cycle selfrefresh_at = wants_selfrefresh_at(rank);
  const Cycle selfrefresh_end = std::min(refresh_at, owes_at);
  const auto in_window = [&](Cycle cycle) { return cycle < selfrefresh_end ? cycle : never; };

  if (rank.power == Power::down) {
    if (rank.queued > 0) return plan_of(Command::pdx, no_sooner(Command::pdx, 0));
    Cycle cycle = never;
    if (refresh_at != never) cycle = no_sooner(Command::pdx, refresh_at);
    if (selfrefresh_at != never) {
      cycle = std::min(cycle, in_window(no_sooner(Command::pdx, selfrefresh_at)));
    }
    return plan_of(Command::pdx, cycle);
  }
  if (rank.queued > 0 && from < refresh_at) return {refresh_at, Command::ref, refresh_at != never};

  const Command to_refresh = rank.open_banks > 0 ? Command::prea : Command::ref;
  const Command to_selfrefresh = rank.open_banks > 0 ? Command::prea : Command::sre;
  Plan best;
  if (refresh_at != never) best = plan_of(to_refresh, no_sooner(to_refresh, refresh_at));
  if (selfrefresh_at != never) {
    const Cycle cycle = in_window(no_sooner(to_selfrefresh, selfrefresh_at));
    if (cycle < best.cycle) best = plan_of(to_selfrefresh, cycle);
  }
  const Cycle powerdown_at = wants_powerdown_at(rank);
  if (powerdown_at != never) {
    // Wanted only while nothing else is: if its first moment falls into the time in which
    // self-refresh is wanted, it may come back into its own between that and the refresh.
    Cycle cycle = no_sooner(Command::pde, powerdown_at);
    if (cycle >= selfrefresh_at && cycle < selfrefresh_end) cycle = selfrefresh_end;
    if (cycle < refresh_at && cycle < best.cycle) best = plan_of(Command::pde, cycle);
  }
  return best;
}

Cycle RankRules::next_idle_threshold(const RankState& rank, Cycle cycle) const {
  Cycle next = never;
  const auto consider = [&](Cycle at) {
    if (at > cycle && at < next) next = at;
  };
  if (rank.power == Power::self_refresh) return never;
  consider(rank.idle_since + refresh_idle);
  consider(wants_selfrefresh_at(rank));
  if (rank.power == Power::up) consider(wants_powerdown_at(rank));
  return next;
}

void RankRules::issued(Command command, RankState& rank, Cycle cycle) const {
  switch (command) {
    case Command::prea:
      rank.open_banks = 0;
      break;
    case Command::ref:
      rank.first_due += refi_;
      rank.refreshed = true;
      break;
    case Command::pde:
      rank.power = Power::down;
      break;
    case Command::pdx:
      rank.power = Power::up;
      break;
    case Command::sre:
      rank.power = Power::self_refresh;
      break;
    case Command::srx:
      // The device refreshed itself; JESD79-4 asks for one REF before the next self-refresh.
      rank.power = Power::up;
      rank.refreshed = !refresh_;
      rank.first_due = cycle + (refi_ > ahead_ ? refi_ - ahead_ : 0);
      break;
    default:
      break;
  }
}

}  // namespace nearfar::sim::dram

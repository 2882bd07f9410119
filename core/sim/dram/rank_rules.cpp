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
  // The banks of one number are closed one by one, and an activate before REFSB counts.
  const Cycle one_by_one =
      config.same_bank_refresh ? config.bank_groups * (t.ppd + slot) + t.rrd_l : 0;
  return one_by_one + recovery + t.rp + t.xp + t.cke + slot * (2 * Cycle{config.ranks} + 2);
}

}  // namespace

RankRules::RankRules(const Config& config)
    : refresh_(config.refresh),
      same_bank_(config.same_bank_refresh),
      refreshes_(config.refreshes()),
      banks_in_rank_(config.banks_in_rank()),
      activate_to_refresh_(config.timing.rrd_l),
      refi_(config.timing.refi),
      postpone_(config.refresh_postpone),
      ahead_(longest_wait(config)),
      stagger_(refi_ / refreshes_ / config.ranks),
      powerdown_idle_(config.powerdown_idle),
      selfrefresh_idle_(config.selfrefresh_idle) {
  for (std::uint32_t bank = 0; bank < config.banks_in_rank(); bank += config.banks) {
    same_banks_ |= std::uint64_t{1} << bank;
  }
}

RankState RankRules::initial(std::uint32_t rank) const {
  RankState state;
  const Cycle early = ahead_ + rank * stagger_;
  const Cycle interval = refi_ / refreshes_;
  state.first_due = interval > early ? interval - early : 0;
  return state;
}

Cycle RankRules::wants_refresh_at(const RankState& rank) const {
  if (!refresh_) return never;
  const Cycle forced = forced_at(rank);
  if (rank.queued > 0) return forced;
  return std::min(forced, std::max(rank.first_due, rank.idle_since + refresh_idle));
}

Cycle RankRules::wants_selfrefresh_at(const RankState& rank) const {
  if (selfrefresh_idle_ == 0 || rank.queued > 0 || rank.awake_refreshes > 0) return never;
  return rank.idle_since + selfrefresh_idle_;
}

Cycle RankRules::wants_powerdown_at(const RankState& rank) const {
  if (powerdown_idle_ == 0 || rank.queued > 0) return never;
  return rank.idle_since + powerdown_idle_;
}

/// What brings the rank nearer to the refresh it owes: closing a row, or the refresh itself.
RankRules::Wish RankRules::refresh_step(const RankState& rank, std::uint32_t index,
                                        const Rows& rows) const {
  const std::uint32_t first = index * banks_in_rank_;
  if (!same_bank_) return {rank.open_banks > 0 ? Command::prea : Command::ref, first};
  for (std::uint32_t bank = rank.next_banks; bank < banks_in_rank_; bank += refreshes_) {
    if (rows[first + bank] != closed) return {Command::pre, first + bank};
  }
  return {Command::refsb, first + rank.next_banks};
}

std::optional<RankRules::Wish> RankRules::wanted(const RankState& rank, std::uint32_t index,
                                                 const Rows& rows, Cycle cycle) const {
  const auto wish = [&](Command command) { return Wish{command, index * banks_in_rank_}; };
  if (rank.power == Power::self_refresh) {
    return rank.queued > 0 ? std::optional(wish(Command::srx)) : std::nullopt;
  }
  const bool refresh = cycle >= wants_refresh_at(rank);
  const bool owes = refresh_ && cycle >= rank.first_due;
  const bool selfrefresh = !refresh && !owes && cycle >= wants_selfrefresh_at(rank);
  if (rank.power == Power::down) {
    return rank.queued > 0 || refresh || selfrefresh ? std::optional(wish(Command::pdx))
                                                     : std::nullopt;
  }
  if (refresh) return refresh_step(rank, index, rows);
  if (selfrefresh) return wish(rank.open_banks > 0 ? Command::prea : Command::sre);
  if (cycle >= wants_powerdown_at(rank)) return wish(Command::pde);
  return std::nullopt;
}

Cycle RankRules::earliest(const Plan& plan, std::uint32_t index, const DeviceTiming& timing) {
  const Slot slot = slot_of(plan.command);
  if (plan.command == Command::pre) {
    return std::max(timing.earliest_at_bank(slot, plan.bank), timing.earliest_in_rank(slot, index));
  }
  const Cycle at = timing.earliest_for_rank(slot, index);
  if (plan.command != Command::refsb) return at;
  return std::max(at, timing.earliest_refresh_of(plan.bank));
}

RankRules::Plan RankRules::plan(const RankState& rank, std::uint32_t index,
                                const DeviceTiming& timing, const Rows& rows, Cycle from) const {
  const std::uint32_t first = index * banks_in_rank_;
  const auto no_sooner = [&](Command command, Cycle cycle) {
    return std::max({from, cycle, timing.earliest_for_rank(slot_of(command), index)});
  };
  const auto plan_of = [&](Command command, Cycle cycle) { return Plan{cycle, command, first}; };

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
  if (rank.queued > 0 && from < refresh_at) {
    return {refresh_at, Command::ref, first, refresh_at != never};
  }

  const Command to_selfrefresh = rank.open_banks > 0 ? Command::prea : Command::sre;
  Plan best;
  if (refresh_at != never) {
    const Wish step = refresh_step(rank, index, rows);
    best = {0, step.command, step.bank};
    best.cycle = std::max({from, refresh_at, earliest(best, index, timing)});
    // Until an activate would keep REFSB waiting, activates go on.
    if (step.command == Command::refsb && rank.queued > 0 &&
        from + activate_to_refresh_ <= best.cycle) {
      return {best.cycle - activate_to_refresh_ + 1, Command::refsb, step.bank, true};
    }
  }
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
    case Command::pre:
      --rank.open_banks;
      break;
    case Command::ref:
    case Command::refsb:
      rank.first_due += step(rank);
      rank.next_banks = (rank.next_banks + 1) % refreshes_;
      if (rank.awake_refreshes > 0) --rank.awake_refreshes;
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
      // The device refreshed itself; JEDEC asks for one REF, or a REFSB for every bank of a
      // group, before the next self-refresh.
      rank.power = Power::up;
      rank.awake_refreshes = refresh_ ? refreshes_ : 0;
      rank.first_due = cycle + (step(rank) > ahead_ ? step(rank) - ahead_ : 0);
      break;
    default:
      break;
  }
}

}  // namespace nearfar::sim::dram

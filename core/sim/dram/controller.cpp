#include "sim/dram/controller.h"

namespace nearfar::sim::dram {

Channel::Controller::Controller(const Config& config, std::uint8_t channel_index,
                                CommandLog* log, Mode mode)
    : config_(config),
      mapping_(config, "mapping"),
      channel_index_(channel_index),
      log_(log),
      rank_banks_((std::uint64_t{1} << (config.banks_in_rank() - 1) << 1) - 1),
      state_(config),
      timing_(config),
      selector_(state_, timing_),
      waiting_{WaitingPorts(hold), WaitingPorts(hold)} {
  if (mode == Mode::every_cycle) {
    reference_ = std::make_unique<CycleReference>(config_, state_);
    return;
  }
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) plan_rank(rank, 1);
  choose_next(1);
}

Tick Channel::Controller::next_event() const {
  Tick next = completions_.next();
  // Without requests only refresh and power management go on, unseen unless they are logged.
  if (log_ != nullptr || !no_requests()) {
    next = min(next, reference_ ? time_of(cycle_ + 1) : next_.time);
  }
  for (const WaitingPorts& ports : waiting_) {
    if (!ports.none_waiting() && ports.next_lapse() != never) {
      next = min(next, time_of(ports.next_lapse()));
    }
  }
  return next;
}

void Channel::Controller::advance(Tick until, Sink& sink) {
  run_until(until);
  completions_.deliver(until, sink);
}

bool Channel::Controller::idle() const { return no_requests() && completions_.empty(); }

void Channel::Controller::run_until(Tick until) {
  if (reference_) {
    run_every_cycle(cycle_of(until));
  } else if (next_.time <= until) {
    if (no_requests() && log_ == nullptr) skip_idle(cycle_of(until));
    while (next_.time <= until) carry_out(next_);
  }
  for (WaitingPorts& ports : waiting_) {
    if (ports.next_lapse() != never) {
      lapse_holds(cycle_of(until));
      break;
    }
  }
}

void Channel::Controller::run_every_cycle(Cycle last) {
  while (cycle_ < last) {
    ++cycle_;
    if (const auto rank = reference_->rank_command(cycle_)) {
      issue_for_rank(rank->command, rank->rank, cycle_);
    } else if (const auto choice = reference_->request_command(cycle_)) {
      issue_for_request(*choice);
    }
  }
}

void Channel::Controller::plan_rank(std::uint32_t rank, Cycle from) {
  const RankState& state = state_.ranks[rank];
  plans_[rank] = state_.rules.plan(state, rank, timing_, from);
  const std::uint64_t banks = rank_banks_ << (rank * config_.banks_in_rank());
  available_ = state_.rules.available(state, from) ? available_ | banks : available_ & ~banks;
}

Channel::Controller::Next Channel::Controller::next_of(const Choice& choice) const {
  Next next;
  if (choice.cycle != never) next.time = time_of(choice.cycle);
  next.choice = choice;
  return next;
}

void Channel::Controller::choose_next(Cycle from) {
  next_ = next_of(selector_.select(state_.direction(), from, available_));
  for (std::uint32_t rank = config_.ranks; rank-- > 0;) {
    const RankRules::Plan& plan = plans_[rank];
    if (plan.cycle == never) continue;
    const Cycle cycle = plan.cycle < from ? from : plan.cycle;
    if (time_of(cycle) > next_.time) continue;
    next_.time = time_of(cycle);
    next_.is_rank = true;
    next_.rank = rank;
    next_.plan = plan;
    next_.plan.cycle = cycle;
  }
}

/// After an arrival: a full choice only when more than one bank's proposal may have changed.
void Channel::Controller::reconsider(Direction d, Index entry, Direction before, Cycle from) {
  const Selector::Change change = selector_.arrived(d, entry);
  const Location& at = state_.queue(d)[entry].at;
  RankState& rank = state_.ranks[at.rank];
  const std::uint64_t bank = std::uint64_t{1} << at.bank_index;
  if (++rank.queued == 1 || (available_ & bank) == 0) {
    plan_rank(at.rank, from);
    choose_next(from);
    return;
  }
  const Direction now = state_.direction();
  if (now == before) {
    if (now != d || change == Selector::Change::none) return;
    if (change == Selector::Change::first && !state_.urgent(d)) {
      const Choice choice = selector_.proposal(d, at.bank_index, from);
      const Tick time = time_of(choice.cycle);
      if (time < next_.time ||
          (time == next_.time && !next_.is_rank && choice.order < next_.choice.order)) {
        next_ = next_of(choice);
      }
      return;
    }
  }
  choose_next(from);
}

/// Refreshes of a channel without requests recur with tREFI. Once a whole period has passed
/// like the one before it, the rest of the idle time is skipped, its commands counted.
void Channel::Controller::skip_idle(Cycle until) {
  const Cycle period = state_.rules.refi();
  const auto run = [&](Cycle last) {
    while (next_.time <= time_of(last)) carry_out(next_);
  };
  Cycle now = cycle_of(next_.time);
  while (config_.refresh && next_.time != Tick::never() && now + 4 * period <= until) {
    Cycle horizon = until;
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
      horizon = std::min(horizon, state_.rules.next_idle_threshold(state_.ranks[rank], now));
    }
    run(now + period);
    now += period;
    if (now + 3 * period > horizon) continue;

    const std::array<RankState, 4> ranks = state_.ranks;
    const Tick next = next_.time;
    const ChannelCounters counters = counters_;
    run(now + period);
    now += period;
    bool repeats = next_.time - next == time_of(period);
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
      const RankState& state = state_.ranks[rank];
      repeats &= state.power == ranks[rank].power && state.open_banks == ranks[rank].open_banks;
      repeats &= state.power == Power::self_refresh ||
                 state.first_due - ranks[rank].first_due == period;
    }
    if (!repeats) continue;

    const Cycle periods = (horizon - now) / period;
    const Cycle skipped = periods * period;
    counters_.repeat_since(counters, periods);
    timing_.shift(skipped);
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
      RankState& state = state_.ranks[rank];
      if (state.power != Power::self_refresh) {
        state.first_due += skipped;
        low_power_since_[rank] += skipped;
      }
    }
    now += skipped;
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) plan_rank(rank, now + 1);
    choose_next(now + 1);
  }
}

}  // namespace nearfar::sim::dram

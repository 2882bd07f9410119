#include "sim/dram/controller.h"

#include <algorithm>

namespace nearfar::sim::dram {

Channel::Controller::Controller(const Config& config, std::uint8_t channel_index, CommandLog* log,
                                Mode mode)
    : config_(config),
      mapping_(config, "mapping"),
      channel_index_(channel_index),
      log_(log),
      observed_(log != nullptr || mode == Mode::every_cycle),
      shortest_burst_(config.clock *
                      (std::min(config.timing.cl, config.timing.cwl) + config.timing.burst)),
      rank_banks_((std::uint64_t{1} << (config.banks_in_rank() - 1) << 1) - 1),
      state_(config),
      timing_(config),
      selector_(config),
      waiting_{WaitingPorts(hold), WaitingPorts(hold)} {
  if (mode == Mode::every_cycle) {
    reference_ = std::make_unique<CycleReference>(config_, state_);
    next_time_ = time_of(1);
    return;
  }
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) plan_rank(rank, 1);
  choose_next(1);
}

Tick Channel::Controller::next_event() const {
  Tick next = completions_.next();
  if (log_ != nullptr || ports_wait()) {
    if (log_ != nullptr || !no_requests()) next = min(next, next_time_);
    for (const WaitingPorts& ports : waiting_) {
      if (!ports.none_waiting() && ports.next_lapse() != never) {
        next = min(next, time_of(ports.next_lapse()));
      }
    }
  } else if (!no_requests()) {
    // No burst ends sooner than this after the next command, whatever that is.
    next = min(next, next_time_ + shortest_burst_);
  }
  return next;
}

void Channel::Controller::advance(Tick until, Sink& sink) {
  run_until(until);
  completions_.deliver(until, sink);
}

bool Channel::Controller::idle() const { return no_requests() && completions_.empty(); }

void Channel::Controller::plan_rank(std::uint32_t rank, Cycle from) {
  const RankState& state = state_.ranks[rank];
  plans_[rank] = state_.rules.plan(state, rank, timing_, from);
  const std::uint64_t banks = rank_banks_ << (rank * config_.banks_in_rank());
  available_ = state_.rules.available(state, from) ? available_ | banks : available_ & ~banks;
  find_next_plan(from);
}

/// The rank may now want what it did not while requests waited. Working out when is left
/// until it could be: most ranks have the next request by then.
void Channel::Controller::rank_emptied(std::uint32_t rank, Cycle from) {
  const Cycle wish = std::max(from, state_.rules.first_wish(state_.ranks[rank]));
  RankRules::Plan& plan = plans_[rank];
  if (plan.cycle <= wish) return;
  plan = {wish, Command::ref, true};
  find_next_plan(from);
}

void Channel::Controller::find_next_plan(Cycle from) {
  next_plan_ = 0;
  for (std::uint32_t rank = 1; rank < config_.ranks; ++rank) {
    const Cycle best = std::max(plans_[next_plan_].cycle, from);
    if (std::max(plans_[rank].cycle, from) < best) next_plan_ = rank;
  }
}

void Channel::Controller::set_next_plan(Cycle from) {
  // Among plans that are due, the lowest rank's comes first.
  find_next_plan(from);
  const Cycle plan = plans_[next_plan_].cycle;
  next_is_plan_ = true;
  next_time_ = plan == never ? Tick::never() : time_of(std::max(plan, from));
}

/// Refreshes of a channel without requests recur with tREFI. Once a whole period has passed
/// like the one before it, the rest of the idle time is skipped, its commands counted.
void Channel::Controller::skip_idle(Cycle until) {
  const Cycle period = state_.rules.refi();
  const auto run = [&](Cycle last) {
    while (next_time_ <= time_of(last)) carry_out_plan();
  };
  Cycle now = cycle_of(next_time_);
  while (config_.refresh && next_time_ != Tick::never() && now + 4 * period <= until) {
    Cycle horizon = until;
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
      horizon = std::min(horizon, state_.rules.next_idle_threshold(state_.ranks[rank], now));
    }
    run(now + period);
    now += period;
    if (now + 3 * period > horizon) continue;

    const std::array<RankState, 4> ranks = state_.ranks;
    const Tick next = next_time_;
    const ChannelCounters counters = counters_;
    run(now + period);
    now += period;
    bool repeats = next_time_ - next == time_of(period);
    for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
      const RankState& state = state_.ranks[rank];
      repeats &= state.power == ranks[rank].power && state.open_banks == ranks[rank].open_banks;
      repeats &=
          state.power == Power::self_refresh || state.first_due - ranks[rank].first_due == period;
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

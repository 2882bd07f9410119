#include "sim/dram/controller.h"

#include <algorithm>

namespace nearfar::sim::dram {

Channel::Controller::Controller(const Config& config, std::uint8_t channel_index, CommandLog* log,
                                Mode mode)
    : config_(config),
      mapping_(config, "mapping"),
      channel_index_(channel_index),
      log_(log),
      powers_down_(config.powerdown_idle > 0 || config.selfrefresh_idle > 0),
      observed_(log != nullptr || mode == Mode::every_cycle),
      plain_(config.standard == Standard::ddr4 && !observed_),
      read_burst_(config.clock * (config.timing.cl + config.timing.burst)),
      write_burst_(config.clock * (config.timing.cwl + config.timing.burst)),
      shortest_burst_(min(read_burst_, write_burst_)),
      rank_banks_((std::uint64_t{1} << (config.banks_in_rank() - 1) << 1) - 1),
      state_(config),
      timing_(config),
      selector_(config),
      waiting_{WaitingPorts(hold), WaitingPorts(hold)} {
  if (config_.energy) energy_.emplace(config_);
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
    next = min(next, next_time_ + shortest_burst_ + row_delay());
  }
  return next;
}

/// When a single request is left: how long its row keeps the column command from following
/// the next one. No burst, of whatever request, ends sooner than `shortest_burst_` after it.
Tick Channel::Controller::row_delay() const {
  if (requests() != 1 || next_ == Next::plan) return Tick(0);
  switch (selector_.kind(next_choice_.direction, next_choice_.bank)) {
    case Selector::precharge:
      return time_of(config_.timing.rp + config_.timing.rcd);
    case Selector::activate:
      return time_of(config_.timing.rcd);
    default:
      break;
  }
  return Tick(0);
}

void Channel::Controller::advance(Tick until, Sink& sink) {
  run_until(until);
  if (completions_.next() <= until) completions_.deliver(until, sink);
}

Tick Channel::Controller::advance_by_events(Tick until, Sink& sink) {
  const std::size_t told = sink.size();
  Tick reached = Tick::never();
  while (!idle() || slots_held()) {
    const Tick next = min(next_event(), until);
    if (next.is_never()) break;
    reached = next;
    advance(reached, sink);
    if (sink.size() != told || reached == until) return reached;
  }
  if (until.is_never()) return reached;
  run_until(until);
  return until;
}

void Channel::Controller::state(Archive& archive) {
  state_.state(archive);
  selector_.state(archive, state_);
  archive(timing_, cycle_, plans_, next_plan_, next_plan_cycle_, available_, next_time_, next_,
          next_choice_, waiting_, next_lapse_, merged_, completions_, arrivals_, low_power_since_,
          counters_, power_times_, row_cycles_, settled_);
}

bool Channel::Controller::idle() const { return no_requests() && completions_.empty(); }

void Channel::Controller::plan_rank(std::uint32_t rank, Cycle from) {
  const RankState& state = state_.ranks[rank];
  plans_[rank] = state_.rules.plan(state, rank, timing_, state_.open_row, from);
  const RankRules::Plan& plan = plans_[rank];
  if (plan.command == Command::refsb && !plan.look_again && state.queued > 0) {
    timing_.hold_activates(rank, plan.cycle + 1);
  }
  const std::uint32_t first = rank * config_.banks_in_rank();
  const std::uint64_t banks = rank_banks_ << first;
  available_ = state_.rules.available(state, from) ? available_ | banks : available_ & ~banks;
  available_ &= ~(state_.rules.refresh_of(state, from) << first);
  find_next_plan(from);
}

/// The rank may now want what it did not while requests waited. Working out when is left
/// until it could be: most ranks have the next request by then.
[[gnu::noinline]] void Channel::Controller::rank_emptied(std::uint32_t rank, Cycle from) {
  const Cycle wish = std::max(from, state_.rules.first_wish(state_.ranks[rank]));
  RankRules::Plan& plan = plans_[rank];
  if (plan.cycle <= wish) return;
  plan = {wish, Command::ref, 0, true};
  find_next_plan(from);
}

void Channel::Controller::find_next_plan(Cycle from) {
  next_plan_ = 0;
  for (std::uint32_t rank = 1; rank < config_.ranks; ++rank) {
    const Cycle best = std::max(plans_[next_plan_].cycle, from);
    if (std::max(plans_[rank].cycle, from) < best) next_plan_ = rank;
  }
  next_plan_cycle_ = plans_[next_plan_].cycle;
}

void Channel::Controller::set_next_plan(Cycle from) {
  // Among plans that are due, the lowest rank's comes first.
  if (plans_[next_plan_].cycle < from) find_next_plan(from);
  const Cycle plan = plans_[next_plan_].cycle;
  next_ = Next::plan;
  next_time_ = plan == never ? Tick::never() : time_of(std::max(plan, from));
}

/// Refreshes of a channel without requests recur with tREFI. Once a whole period has passed
/// like the one before it, the rest of the idle time is skipped, its commands counted. False,
/// and nothing done, when that is not worth it.
bool Channel::Controller::skip_idle(Cycle until) {
  const Cycle period = state_.rules.refi();
  Cycle now = cycle_of(next_time_);
  if (log_ != nullptr || !no_requests() || !config_.refresh || now + 4 * period > until) {
    return false;
  }
  const auto live_through_a_period = [&] {
    now += period;
    while (next_time_ <= time_of(now)) carry_out_plan();
  };
  // By then what requests left behind no longer delays anything.
  live_through_a_period();
  Cycle horizon = until;
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    horizon = std::min(horizon, state_.rules.next_idle_threshold(state_.ranks[rank], now));
  }
  if (now + 3 * period > horizon) return true;

  const std::array<RankState, 4> ranks = state_.ranks;
  const std::array<Cycle, 4> low_power_since = low_power_since_;
  const Tick next = next_time_;
  const ChannelCounters counters = counters_;
  const std::array<PowerTimes, 4> power_times = power_times_;
  live_through_a_period();
  bool repeats = next_time_ - next == time_of(period);
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    const RankState& state = state_.ranks[rank];
    repeats &= state.power == ranks[rank].power && state.open_banks == ranks[rank].open_banks;
    if (state.power == Power::self_refresh) continue;
    repeats &= state.next_banks == ranks[rank].next_banks;
    repeats &= state.first_due - ranks[rank].first_due == period;
    repeats &= state.power == Power::up || low_power_since_[rank] - low_power_since[rank] == period;
  }
  if (!repeats) return true;
  const Cycle periods = (horizon - now) / period;
  counters_.repeat_since(counters, periods);
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    power_times_[rank].repeat_since(power_times[rank], periods);
  }
  shift(periods * period);
  now += periods * period;
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) plan_rank(rank, now + 1);
  choose_next(now + 1);
  return true;
}

/// Moves what the ranks did lately `cycles` into the future.
void Channel::Controller::shift(Cycle cycles) {
  timing_.shift(cycles);
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    if (state_.ranks[rank].power == Power::self_refresh) continue;
    state_.ranks[rank].first_due += cycles;
    low_power_since_[rank] += cycles;
  }
}

}  // namespace nearfar::sim::dram

#include <algorithm>

#include "sim/dram/controller.h"

namespace nearfar::sim::dram {
namespace {

constexpr const char* state_names[power_states] = {"active_ps", "precharged_ps",
                                                   "active_powerdown_ps", "precharged_powerdown_ps",
                                                   "self_refresh_ps"};

}  // namespace

// The first row of a rank opens and the last one closes so seldom that they are kept out of the
// loops that carry commands out.

[[gnu::noinline]] void Channel::Controller::rank_activated(std::uint32_t rank, Cycle cycle) {
  power_times_[rank].enter(PowerState::active, cycle);
}

[[gnu::noinline]] void Channel::Controller::rank_precharged(std::uint32_t rank, Cycle cycle) {
  power_times_[rank].enter(PowerState::precharged, cycle);
}

[[gnu::noinline]] void Channel::Controller::row_auto_precharged(std::uint32_t rank, Cycle closes,
                                                                Cycle cycle) {
  row_cycles_ += closes;
  power_times_[rank].closes_later(closes);
  if (--state_.ranks[rank].open_banks == 0) rank_precharged(rank, cycle);
}

/// A command to a whole rank, before the rank's state has changed by it.
void Channel::Controller::account(Command command, std::uint32_t rank, Cycle cycle) {
  PowerTimes& times = power_times_[rank];
  const std::uint64_t open = state_.ranks[rank].open_banks;
  switch (command) {
    case Command::prea:
      row_cycles_ += open * cycle;
      times.enter(PowerState::precharged, cycle);
      break;
    case Command::pre:
      row_cycles_ += cycle;
      if (open == 1) times.enter(PowerState::precharged, cycle);
      break;
    case Command::pde:
      row_cycles_ += open * cycle;
      times.enter(open > 0 ? PowerState::active_powerdown : PowerState::precharged_powerdown,
                  cycle);
      break;
    case Command::sre:
      times.enter(PowerState::self_refresh, cycle);
      break;
    case Command::pdx:
    case Command::srx:
      row_cycles_ -= open * cycle;
      times.enter(open > 0 ? PowerState::active : PowerState::precharged, cycle);
      break;
    default:
      break;
  }
}

/// Time that rows were open, in standby and not in power-down, summed over rows; one that an
/// auto-precharge is closing counts to its end.
Tick Channel::Controller::rows_open(Tick now) const {
  std::uint64_t open = 0;
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    if (power_times_[rank].state() == PowerState::active) open += state_.ranks[rank].open_banks;
  }
  return Tick(row_cycles_ * config_.clock.ps() + open * now.ps());
}

/// Until when the states of the ranks are known: what was settled, and never less than the last
/// change of one.
Tick Channel::Controller::accounted() const {
  Tick now = settled_;
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    now = max(now, time_of(power_times_[rank].since()));
  }
  return now;
}

Activity Channel::Controller::activity() const {
  Activity activity;
  activity.activates = counters_.activates;
  activity.reads = counters_.read_bursts;
  activity.writes = counters_.write_bursts;
  activity.refreshes = counters_.refreshes;
  const Tick now = accounted();
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    const auto times = power_times_[rank].until(now, config_.clock);
    for (std::size_t i = 0; i < power_states; ++i) activity.times[i] += times[i];
  }
  activity.rows_open = rows_open(now);
  return activity;
}

void Channel::Controller::register_counters(Counters& counters, const std::string& prefix) const {
  counters_.register_in(counters, prefix);
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    const std::string of_rank = prefix + "rank." + std::to_string(rank) + ".";
    for (std::size_t i = 0; i < power_states; ++i) {
      counters.add(of_rank + state_names[i], [this, rank, i] {
        return power_times_[rank].until(accounted(), config_.clock)[i].ps();
      });
    }
  }
  if (!energy_) return;
  for (const Energy::Field& field : Energy::fields) {
    counters.add(prefix + "energy." + field.name + "_pj",
                 [this, &field] { return energy().*field.value; });
  }
}

}  // namespace nearfar::sim::dram

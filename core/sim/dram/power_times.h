#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/archive.h"
#include "base/tick.h"
#include "sim/dram/config.h"

namespace nearfar::sim::dram {

/// What a rank draws its standby current for.
enum class PowerState : std::uint8_t {
  active,      ///< at least one row open
  precharged,  ///< none
  active_powerdown,
  precharged_powerdown,
  self_refresh,
};
inline constexpr std::size_t power_states = 5;

/// How long a rank has been in each power state, exact to the picosecond: told of the changes
/// alone, which few commands are.
class PowerTimes {
 public:
  /// An auto-precharge closes a row at `at`, which lies ahead of its command; until then the row
  /// counts as open.
  void closes_later(Cycle at) { closes_ = std::max(closes_, at); }

  void enter(PowerState state, Cycle at) {
    if (state == PowerState::precharged) at = std::max(at, closes_);
    const Cycle from = std::max(at, since_);
    cycles_[static_cast<std::size_t>(state_)] += from - since_;
    since_ = from;
    state_ = state;
  }

  [[nodiscard]] PowerState state() const { return state_; }
  /// The last change, which may lie ahead by what an auto-precharge takes.
  [[nodiscard]] Cycle since() const { return since_; }

  /// Time in each state from 0 to `now`, no earlier than the last command; its sum is `now`.
  [[nodiscard]] std::array<Tick, power_states> until(Tick now, Tick clock) const {
    std::array<Tick, power_states> times;
    for (std::size_t i = 0; i < power_states; ++i) times[i] = clock * cycles_[i];
    const Tick since = clock * since_;
    if (since <= now) {
      times[static_cast<std::size_t>(state_)] += now - since;
    } else {
      times[static_cast<std::size_t>(PowerState::active)] -= since - now;
    }
    return times;
  }

  /// Adds `times` more of what has happened since `before`: idle time in which the same
  /// commands repeat.
  void repeat_since(const PowerTimes& before, std::uint64_t times) {
    for (std::size_t i = 0; i < power_states; ++i) {
      cycles_[i] += (cycles_[i] - before.cycles_[i]) * times;
    }
    since_ += (since_ - before.since_) * times;
  }

  void state(Archive& archive) { archive(cycles_, since_, closes_, state_); }

 private:
  std::array<Cycle, power_states> cycles_{};  ///< up to since_
  Cycle since_ = 0;
  Cycle closes_ = 0;  ///< when the last row that was auto-precharged so far is closed
  PowerState state_ = PowerState::precharged;
};

}  // namespace nearfar::sim::dram

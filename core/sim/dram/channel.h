#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/archive.h"
#include "base/counters.h"
#include "base/tick.h"
#include "sim/dram/command.h"
#include "sim/dram/config.h"
#include "sim/dram/energy.h"
#include "sim/request.h"
#include "sim/sink.h"

namespace nearfar::sim::dram {

/// How the controller finds its next command. Both give the same commands at the same times.
enum class Mode : std::uint8_t {
  next_event,   ///< jumps from command to command
  every_cycle,  ///< evaluates every rule at every clock edge; the tests' reference
};

/// One DDR4 channel: the devices and their controller (FR-FCFS over a read and a write queue).
///
/// A request can be scheduled from the first clock edge after it was sent. A read is done at
/// the end of its data burst, or one clock edge after it was sent when the write queue holds
/// its line. A write is done when it is accepted, and with `tell_media` reported once more
/// (Completion::Kind::media) at the end of its data burst. A write to a line that already
/// waits in the write queue merges with it: each is done, and reported, on its own.
///
/// A request that finds its queue full is refused and its port waits in arrival order; a
/// later Completion::Kind::wake says that a slot is held for it. The port has
/// `Channel::hold` clock cycles to take it; then the slot passes to the next one waiting, so
/// that a port which never comes back cannot stop the others.
///
/// Time never goes back: `now` and `until` are at least the latest of either seen before.
/// Between calls nothing is lost: how `advance` is split changes no result.
///
/// Counters point into the object, so it stays where it was made.
class Channel {
 public:
  static constexpr Cycle hold = 64;

  Channel(const Config& config, std::uint8_t channel_index, CommandLog* log = nullptr,
          Mode mode = Mode::next_event);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// `request.address` is local to the channel, below Config::capacity(); an address beyond
  /// it throws InputError. `retry_at` of a refusal is the next clock edge.
  [[nodiscard]] Accept try_send(const Request& request, Tick now);

  /// As Device's.
  Tick send(const Request& request, Tick now, Sink& sink);

  /// No later than when `advance` next has something to tell or, with a command log, record;
  /// Tick::never() when it has not. Refresh of an idle channel is caught up silently.
  [[nodiscard]] Tick next_event() const;

  /// Runs to `until`, inclusive, and appends what is finished by then in time order.
  void advance(Tick until, Sink& sink);

  /// Runs to the first time at which there is something to tell, at most to `until`, and
  /// appends it; returns how far it ran. With `until` Tick::never() that is at most as far as
  /// there are requests, and Tick::never() when there is nothing to wait for at all. It spares
  /// a driver the calls for events that tell it nothing.
  Tick advance_to_completion(Tick until, Sink& sink);

  /// No request inside and nothing left to tell.
  [[nodiscard]] bool idle() const;

  /// Brings what is summed over time, the states of the ranks and their energy, up to `now`;
  /// otherwise as advance(), of which nothing may be left to tell by then.
  void settle(Tick now);

  /// Up to the last settle(); nothing without currents in the configuration.
  [[nodiscard]] Energy energy() const;

  void register_counters(Counters& counters, const std::string& prefix) const;

  /// As Device's.
  void state(Archive& archive);

 private:
  class Controller;
  std::unique_ptr<Controller> controller_;
};

}  // namespace nearfar::sim::dram

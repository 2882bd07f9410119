#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/dram/config.h"
#include "sim/dram/fifo.h"

namespace nearfar::sim::dram {

/// The ports that found one queue full, in order of arrival, and the slots held for those
/// that were woken.
///
/// While ports wait, every free slot is held for one that was woken: newcomers cannot
/// overtake. A held slot is given up when its port does not come in time, so a port that
/// went away delays the others by at most that.
class WaitingPorts {
 public:
  explicit WaitingPorts(Cycle hold) : hold_(hold) {}

  /// Whether `port` may take one of `free` slots; taking it uses up what was held for it.
  bool take(std::uint16_t port, std::uint32_t free) {
    if (held_ == 0) return free > 0;
    if (is_held(port)) {
      give_up(port);
      return true;
    }
    return free > held_;
  }

  /// `port` was refused: remembers it, once.
  void refuse(std::uint16_t port) {
    if (port >= ports_.size()) ports_.resize(std::size_t{port} + 1);
    if (ports_[port].place != Place::elsewhere) return;
    ports_[port].place = Place::waiting;
    waiting_.push(port);
    ++waiting_count_;
  }

  /// `port` was served without a slot: what was held for it becomes free. True when it was.
  bool release(std::uint16_t port) {
    if (held_ == 0 || !is_held(port)) return false;
    give_up(port);
    return true;
  }

  /// A slot became free at `cycle`: the port to wake, for which it is now held.
  std::optional<std::uint16_t> wake(Cycle cycle) {
    if (waiting_count_ == 0) return std::nullopt;
    const std::uint16_t port = waiting_.front();
    waiting_.pop();
    --waiting_count_;
    ports_[port] = {Place::held, cycle + hold_};
    grants_.push({port, cycle + hold_});
    ++held_;
    return port;
  }

  /// When the first held slot is given up; never when none is held.
  [[nodiscard]] Cycle next_lapse() const {
    return held_ == 0 ? std::numeric_limits<Cycle>::max() : grants_.front().until;
  }
  /// Gives up the slot that next_lapse() tells of.
  void lapse() { give_up(grants_.front().port); }

  /// No port waits and no slot is held.
  [[nodiscard]] bool quiet() const { return (held_ | waiting_count_) == 0; }
  [[nodiscard]] bool none_waiting() const { return waiting_count_ == 0; }

 private:
  enum class Place : std::uint8_t { elsewhere, waiting, held };
  struct Port {
    Place place = Place::elsewhere;
    Cycle until = 0;
  };
  struct Grant {
    std::uint16_t port = 0;
    Cycle until = 0;
  };

  [[nodiscard]] bool is_held(std::uint16_t port) const {
    return port < ports_.size() && ports_[port].place == Place::held;
  }
  [[nodiscard]] bool is_current(const Grant& grant) const {
    return is_held(grant.port) && ports_[grant.port].until == grant.until;
  }
  void give_up(std::uint16_t port) {
    ports_[port].place = Place::elsewhere;
    --held_;
    while (!grants_.empty() && !is_current(grants_.front())) grants_.pop();
  }

  Cycle hold_;
  std::uint32_t held_ = 0;
  std::uint32_t waiting_count_ = 0;
  std::vector<Port> ports_;     ///< by port
  Fifo<std::uint16_t> waiting_;
  Fifo<Grant> grants_;          ///< in order of time; the first is current, others may not be
};

}  // namespace nearfar::sim::dram

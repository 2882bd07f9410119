#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/archive.h"
#include "base/fifo.h"
#include "sim/dram/config.h"

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
    if (held_.empty()) return free > 0;
    return release(port) || free > held_.size();
  }

  /// `port` was refused: remembers it, once.
  void refuse(std::uint16_t port) {
    if (port >= waits_.size()) waits_.resize(std::size_t{port} + 1);
    if (waits_[port]) return;
    waits_[port] = true;
    line_.push(port);
  }

  /// What was held for `port` becomes free. False when nothing was.
  bool release(std::uint16_t port) {
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (held_[i].port != port) continue;
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  /// A slot became free at `cycle`: the port to wake, for which it is now held.
  std::optional<std::uint16_t> wake(Cycle cycle) {
    if (line_.empty()) return std::nullopt;
    const std::uint16_t port = line_.front();
    line_.pop();
    waits_[port] = false;
    held_.push_back({port, cycle + hold_});
    return port;
  }

  /// When the first held slot is given up; never when none is held.
  [[nodiscard]] Cycle next_lapse() const { return held_.empty() ? none : held_.front().until; }
  /// Gives up the slot that next_lapse() tells of.
  void lapse() { held_.erase(held_.begin()); }

  [[nodiscard]] bool none_waiting() const { return line_.empty(); }
  [[nodiscard]] bool none_held() const { return held_.empty(); }

  void state(Archive& archive) { archive(waits_, line_, held_); }

 private:
  static constexpr Cycle none = std::numeric_limits<Cycle>::max();

  struct Held {
    std::uint16_t port = 0;
    Cycle until = 0;

    void state(Archive& archive) { archive(port, until); }
  };

  Cycle hold_;
  std::vector<bool> waits_;  ///< by port: it stands in line
  Fifo<std::uint16_t> line_;
  std::vector<Held> held_;   ///< in order of time; rarely more than one or two
};

}  // namespace nearfar::sim::dram

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/archive.h"
#include "base/tick.h"

namespace nearfar::sim {

/// The ports that a full queue has refused, in order of arrival.
///
/// When a slot frees, the first port is woken and the slot is held for it. Held slots are
/// given up when time has moved on; then the queue that owns this wakes the next port, so a port
/// that never comes back stops no other.
class WaitingPorts {
 public:
  void refuse(std::uint16_t port) {
    if (std::find(waiting_.begin(), waiting_.end(), port) == waiting_.end()) {
      waiting_.push_back(port);
    }
  }

  /// Whether `port` may take one of `free` slots at `now`.
  [[nodiscard]] bool may_enter(std::uint16_t port, std::uint32_t free, Tick now) {
    if (free == 0 || held(now) == 0) return free > 0;
    return take_held(port) || free > held_;
  }

  /// A slot is free at `now`: calls `wake(port)` for the port whose turn it is, if any.
  template <typename Wake>
  void slot_freed(Tick now, Wake wake) {
    if (held_until_ != now) {
      held_ = 0;
      woken_.clear();
      held_until_ = now;
    }
    if (waiting_.empty()) return;
    const std::uint16_t port = waiting_.front();
    waiting_.pop_front();
    woken_.push_back(port);
    ++held_;
    wake(port);
  }

  /// Free slots that are held at `now` for ports that were woken.
  [[nodiscard]] std::uint32_t held(Tick now) const { return held_until_ == now ? held_ : 0; }

  [[nodiscard]] bool empty() const { return waiting_.empty(); }

  void state(Archive& archive) { archive(waiting_, woken_, held_, held_until_); }

 private:
  /// Uses up the slot held for `port`, if there is one.
  bool take_held(std::uint16_t port) {
    const auto mine = std::find(woken_.begin(), woken_.end(), port);
    if (mine == woken_.end()) return false;
    woken_.erase(mine);
    --held_;
    return true;
  }

  std::deque<std::uint16_t> waiting_;
  std::deque<std::uint16_t> woken_;
  std::uint32_t held_ = 0;
  Tick held_until_{};
};

}  // namespace nearfar::sim

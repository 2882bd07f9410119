#pragma once

#include <cstdint>

#include "base/fifo.h"
#include "base/tick.h"

namespace nearfar {

/// Events of one kind that are pushed in time order, the next one's time always at hand: what an
/// EventLanes costs for a single lane is more.
template <typename Payload>
class TimedFifo {
 public:
  /// When the first is due; Tick::never() if there is none.
  [[nodiscard]] Tick next() const { return next_; }

  /// `time` is not before that of the last one.
  [[gnu::always_inline]] void push(Tick time, Payload payload) {
    if (queue_.empty()) next_ = time;
    queue_.push({time, payload});
  }

  /// The first event, of which there must be one.
  [[gnu::always_inline]] Payload pop() {
    const Payload payload = queue_.front().payload;
    queue_.pop();
    next_ = queue_.empty() ? Tick::never() : queue_.front().time;
    return payload;
  }
  [[nodiscard]] const Payload& front() const { return queue_.front().payload; }

 private:
  struct Entry {
    Tick time;
    Payload payload{};
  };

  Fifo<Entry> queue_;
  Tick next_ = Tick::never();
};

}  // namespace nearfar

#pragma once

#include <cstddef>
#include <span>

#include "base/archive.h"
#include "base/fifo.h"
#include "base/tick.h"

namespace nearfar {

/// Something that happens at a time.
template <typename Payload>
struct Timed {
  Tick time;
  Payload payload{};

  void state(Archive& archive) { archive(time, payload); }
};

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

  /// The first events, as many of them as lie side by side.
  [[nodiscard]] std::span<Timed<Payload>> first() { return queue_.first(); }
  /// Takes out the first `count` of those that first() shows.
  void drop(std::size_t count) {
    queue_.drop(count);
    next_ = queue_.empty() ? Tick::never() : queue_.front().time;
  }

  void state(Archive& archive) { archive(queue_, next_); }

 private:
  Fifo<Timed<Payload>> queue_;
  Tick next_ = Tick::never();
};

}  // namespace nearfar

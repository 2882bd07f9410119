#pragma once

#include "base/archive.h"
#include "base/fifo.h"
#include "sim/request.h"
#include "sim/sink.h"

namespace nearfar::sim::dram {

/// What is to be told, until its time comes. The ends of bursts lie tens of cycles ahead, in
/// order, because bursts share the data bus; everything else is due at once, nearly in order.
class CompletionQueue {
 public:
  [[gnu::always_inline]] void burst_ends(const Completion& completion) {
    if (bursts_.empty()) {
      next_burst_ = completion.time;
      next_ = min(next_, next_burst_);
    }
    bursts_.push(completion);
  }
  void tell_soon(const Completion& completion) {
    soon_.push_in_order(completion,
                        [](const Completion& a, const Completion& b) { return a.time > b.time; });
    next_soon_ = soon_.front().time;
    next_ = min(next_, next_soon_);
  }

  [[nodiscard]] bool empty() const { return next_.is_never(); }
  /// When the first is due.
  [[nodiscard]] Tick next() const { return next_; }

  /// Appends everything due by `until`, in order of time, at equal times bursts first.
  [[gnu::always_inline]] void deliver(Tick until, Sink& sink) {
    while (next_ <= until && !next_.is_never()) deliver_first(sink);
  }

  /// Appends what is due at next(). Precondition: not empty.
  void deliver_next(Sink& sink) {
    const Tick time = next_;
    do {
      deliver_first(sink);
    } while (next_ == time);
  }

  void state(Archive& archive) { archive(bursts_, soon_, next_burst_, next_soon_, next_); }

 private:
  [[gnu::always_inline]] void deliver_first(Sink& sink) {
    if (next_burst_ == next_) {
      sink.push_back(bursts_.front());
      bursts_.pop();
      const Tick next = first_of(bursts_);
      next_burst_ = next;
      next_ = min(next, next_soon_);
    } else {
      sink.push_back(soon_.front());
      soon_.pop();
      next_soon_ = first_of(soon_);
      next_ = min(next_burst_, next_soon_);
    }
  }
  [[nodiscard]] static Tick first_of(const Fifo<Completion>& queue) {
    return queue.empty() ? Tick::never() : queue.front().time;
  }

  Fifo<Completion> bursts_;
  Fifo<Completion> soon_;
  Tick next_burst_ = Tick::never();
  Tick next_soon_ = Tick::never();
  Tick next_ = Tick::never();  ///< the earlier of them
};

}  // namespace nearfar::sim::dram

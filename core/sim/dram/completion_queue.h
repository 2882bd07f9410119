#pragma once

#include "sim/dram/fifo.h"
#include "sim/request.h"

namespace nearfar::sim::dram {

/// What is to be told, until its time comes. The ends of bursts lie tens of cycles ahead, in
/// order, because bursts share the data bus; everything else is due at once, nearly in order.
class CompletionQueue {
 public:
  void burst_ends(const Completion& completion) {
    bursts_.push() = completion;
    next_ = min(next_, completion.time);
  }
  void tell_soon(const Completion& completion) {
    soon_.push_in_order(completion,
                        [](const Completion& a, const Completion& b) { return a.time > b.time; });
    next_ = min(next_, completion.time);
  }

  [[nodiscard]] bool empty() const { return next_.is_never(); }
  /// When the first is due.
  [[nodiscard]] Tick next() const { return next_; }

  /// Appends everything due by `until`, in order of time, at equal times bursts first.
  void deliver(Tick until, Sink& sink) {
    while (next_ <= until && !next_.is_never()) {
      Fifo<Completion>& due = !bursts_.empty() && bursts_.front().time == next_ ? bursts_ : soon_;
      sink.push_back(due.front());
      due.pop();
      next_ = min(first_of(bursts_), first_of(soon_));
    }
  }

 private:
  [[nodiscard]] static Tick first_of(const Fifo<Completion>& queue) {
    return queue.empty() ? Tick::never() : queue.front().time;
  }

  Fifo<Completion> bursts_;
  Fifo<Completion> soon_;
  Tick next_ = Tick::never();
};

}  // namespace nearfar::sim::dram

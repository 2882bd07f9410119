#pragma once

#include "sim/dram/fifo.h"
#include "sim/request.h"

namespace nearfar::sim::dram {

/// What is to be told, until its time comes. The ends of bursts lie tens of cycles ahead, in
/// order, because bursts share the data bus; everything else is due at once, nearly in order.
class CompletionQueue {
 public:
  void burst_ends(Tick time, std::uint64_t id, Address address, Completion::Kind kind,
                  DataHandle data) {
    bursts_.push() = {time, id, address, kind, data};
  }
  void tell_soon(const Completion& completion) { soon_.push_in_order(completion, later); }

  [[nodiscard]] bool empty() const { return bursts_.empty() && soon_.empty(); }
  [[nodiscard]] Tick next() const { return min(front(bursts_), front(soon_)); }

  /// Appends everything due by `until`, in order of time, at equal times bursts first.
  void deliver(Tick until, Sink& sink) {
    while (true) {
      Fifo<Completion>& first = front(soon_) < front(bursts_) ? soon_ : bursts_;
      if (first.empty() || first.front().time > until) return;
      sink.push_back(first.front());
      first.pop();
    }
  }

 private:
  [[nodiscard]] static bool later(const Completion& a, const Completion& b) {
    return a.time > b.time;
  }
  [[nodiscard]] static Tick front(const Fifo<Completion>& queue) {
    return queue.empty() ? Tick::never() : queue.front().time;
  }

  Fifo<Completion> bursts_;
  Fifo<Completion> soon_;
};

}  // namespace nearfar::sim::dram

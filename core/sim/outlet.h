#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/archive.h"
#include "sim/device.h"

namespace nearfar::sim {

/// The way from a controller or a link to a memory that may refuse: requests for one of its queues
/// and one direction leave in order, each offered until it is taken.
class Outlet {
 public:
  explicit Outlet(Device& memory) : memory_(memory), one_queue_(memory.queues() == 1) {}

  /// Whether the memory has taken the request, whose port it sets; if not, it will leave here at
  /// a wake.
  bool send(Request& request, Tick now) {
    const std::uint32_t queue = one_queue_ ? 0 : memory_.queue_of(request.address);
    const std::uint16_t port = request.port = port_of(queue, request.op);
    const bool first = waiting_requests_ == 0 || port >= waiting_.size() || waiting_[port].empty();
    if (first && memory_.try_send(request, now).accepted) return true;
    wait(request);
    return false;
  }

  /// Sends requests that arrive one after the other while nothing waits here, until one is refused,
  /// which then does. Returns how many were taken. Only to a memory that takes_early().
  std::size_t send_all(std::span<Timed<Request>> arrivals) {
    const std::size_t taken = memory_.try_send_all(arrivals);
    if (taken != arrivals.size()) wait(arrivals[taken].payload);
    return taken;
  }

  /// Whether the memory has refused something that waits here.
  [[nodiscard]] bool waiting() const { return waiting_requests_ != 0; }

  /// The memory has a place for `port`: sends what waits there until it refuses, and calls
  /// `taken(request)` for each.
  template <typename Taken>
  void wake(std::uint64_t port, Tick now, Taken taken) {
    while (!waiting_[port].empty()) {
      const Request request = waiting_[port].front();
      if (!memory_.try_send(request, now).accepted) return;
      waiting_[port].pop_front();
      --waiting_requests_;
      taken(request);
    }
  }

  void state(Archive& archive) { archive(waiting_requests_, waiting_); }

 private:
  [[gnu::noinline]] void wait(const Request& request) {
    if (request.port >= waiting_.size()) waiting_.resize(request.port + std::size_t{1});
    waiting_[request.port].push_back(request);
    ++waiting_requests_;
  }

  Device& memory_;
  bool one_queue_;
  std::size_t waiting_requests_ = 0;
  std::vector<std::deque<Request>> waiting_;  ///< by port: two a queue, reads and writes
};

}  // namespace nearfar::sim

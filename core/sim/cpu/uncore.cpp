#include "sim/cpu/uncore.h"

#include <utility>

namespace nearfar::sim::cpu {

void Uncore::send(Request request, Tick now) {
  const std::uint32_t port =
      2 * device_.queue_of(request.address) + (request.op == Op::write ? 1 : 0);
  if (port >= waiting_.size()) waiting_.resize(port + 1);
  request.port = static_cast<std::uint16_t>(port);
  auto& waiting = waiting_[port];
  if (!waiting.empty() || !device_.try_send(request, now).accepted) waiting.push_back(request);
}

void Uncore::wake(std::uint16_t port, Tick now) {
  auto& waiting = waiting_[port];
  while (!waiting.empty()) {
    const std::size_t at = random_retry_ ? rng_.below(waiting.size()) : 0;
    if (!device_.try_send(waiting[at], now).accepted) return;
    if (random_retry_) {
      std::swap(waiting[at], waiting.back());
      waiting.pop_back();
    } else {
      waiting.erase(waiting.begin());
    }
  }
}

}  // namespace nearfar::sim::cpu

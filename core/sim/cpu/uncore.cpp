#include "sim/cpu/uncore.h"

#include <algorithm>

namespace nearfar::sim::cpu {

void Uncore::send(Request request, std::uint16_t core, Tick now) {
  const std::uint32_t port =
      2 * device_.queue_of(request.address) + (request.op == Op::write ? 1 : 0);
  if (port >= waiting_.size()) waiting_.resize(port + 1);
  request.port = static_cast<std::uint16_t>(port);
  Waiting& waiting = waiting_[port];
  if (waiting.cores.empty() && device_.try_send(request, now).accepted) return;
  const std::uint16_t lane = reorder_[port % 2] == 0 ? 0 : core;
  if (lane >= waiting.of_core.size()) waiting.of_core.resize(lane + 1);
  auto& lines = waiting.of_core[lane];
  if (lines.empty()) waiting.cores.push_back(lane);
  lines.push_back(request);
}

void Uncore::wake(std::uint16_t port, Tick now) {
  Waiting& waiting = waiting_[port];
  const std::uint32_t reorder = reorder_[port % 2];
  while (!waiting.cores.empty()) {
    const std::size_t core = reorder == 0 ? 0 : rng_.below(waiting.cores.size());
    auto& lines = waiting.of_core[waiting.cores[core]];
    const std::size_t line =
        reorder == 0 ? 0 : rng_.below(std::min<std::size_t>(reorder, lines.size()));
    if (!device_.try_send(lines[line], now).accepted) return;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
    if (lines.empty()) {
      waiting.cores[core] = waiting.cores.back();
      waiting.cores.pop_back();
    }
  }
}

}  // namespace nearfar::sim::cpu

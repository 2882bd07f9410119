#include "sim/cpu/uncore.h"

#include <algorithm>

namespace nearfar::sim::cpu {

void Uncore::send(Request request, std::uint16_t stop, Tick now) {
  const std::uint32_t port =
      2 * device_.queue_of(request.address) + (request.op == Op::write ? 1 : 0);
  if (port >= waiting_.size()) waiting_.resize(port + 1);
  request.port = static_cast<std::uint16_t>(port);
  Waiting& waiting = waiting_[port];
  if (waiting.stops.empty() && device_.try_send(request, now).accepted) return;
  const std::uint16_t lane = reorder_[port % 2] == 0 ? 0 : stop;
  if (lane >= waiting.of_stop.size()) waiting.of_stop.resize(lane + 1);
  auto& lines = waiting.of_stop[lane];
  if (lines.empty()) waiting.stops.push_back(lane);
  lines.push_back(request);
}

void Uncore::resolve(const Request& request, bool right, Tick now) {
  const std::uint32_t port = 2 * device_.queue_of(request.address);
  if (port < waiting_.size()) {
    Waiting& waiting = waiting_[port];
    for (std::size_t stop = 0; stop < waiting.stops.size(); ++stop) {
      auto& lines = waiting.of_stop[waiting.stops[stop]];
      const auto found = std::find_if(lines.begin(), lines.end(),
                                      [&](const Request& line) { return line.id == request.id; });
      if (found == lines.end()) continue;
      if (right) {
        found->marks &= static_cast<pretranslation::Marks>(~pretranslation::uncertain);
        return;
      }
      lines.erase(found);
      if (lines.empty()) {
        waiting.stops[stop] = waiting.stops.back();
        waiting.stops.pop_back();
      }
      return;
    }
  }
  device_.resolve(request, right, now);
}

void Uncore::wake(std::uint16_t port, Tick now) {
  Waiting& waiting = waiting_[port];
  const std::uint32_t reorder = reorder_[port % 2];
  while (!waiting.stops.empty()) {
    const std::size_t stop = reorder == 0 ? 0 : rng_.below(waiting.stops.size());
    auto& lines = waiting.of_stop[waiting.stops[stop]];
    const std::size_t line =
        reorder == 0 ? 0 : rng_.below(std::min<std::size_t>(reorder, lines.size()));
    if (!device_.try_send(lines[line], now).accepted) return;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
    if (lines.empty()) {
      waiting.stops[stop] = waiting.stops.back();
      waiting.stops.pop_back();
    }
  }
}

}  // namespace nearfar::sim::cpu

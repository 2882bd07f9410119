#include "tier/attach/watched_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace nearfar::tier::attach {

WatchedMemory::WatchedMemory(ProcessMemory& memory, std::unique_ptr<AccessMonitor> monitor)
    : memory_(memory), monitor_(std::move(monitor)), watched_(memory_.areas()) {
  monitor_->watch(watched_);
}

bool WatchedMemory::look(const std::function<void(const Run&)>& found) {
  (void)monitor_->listen();
  const std::vector<Area> accessed = monitor_->take();
  auto next = accessed.begin();
  // A run is told in parts where a part of it was accessed.
  const bool looked = memory_.look([&](Run run) {
    const Place end = run.end;
    while (run.begin < end) {
      while (next != accessed.end() && next->end <= run.begin) ++next;
      run.accessed = next != accessed.end() && next->begin <= run.begin;
      run.end = end;
      if (next != accessed.end()) run.end = std::min(end, run.accessed ? next->end : next->begin);
      found(run);
      run.begin = run.end;
    }
  });
  if (looked) follow_areas();
  return looked;
}

/// The kernel is told of another set of areas at most once in some looks: it answers when the round
/// that is under way has ended. It refuses while the process ends; otherwise it is told again.
void WatchedMemory::follow_areas() {
  constexpr unsigned looks_a_turn = 10;
  if (++looks_ % looks_a_turn != 0) return;
  std::vector<Area> areas = memory_.areas();
  if (areas.empty() || areas == watched_) return;
  try {
    monitor_->watch(areas);
    watched_ = std::move(areas);
  } catch (const InputError&) {
    watched_.clear();
  }
}

}  // namespace nearfar::tier::attach

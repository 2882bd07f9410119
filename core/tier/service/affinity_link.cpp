#include "tier/service/affinity_link.h"

#include "tier/os/system.h"

namespace nearfar::tier {

void AffinityLink::start() {
  wanted.store(PagerCpu::any);
  stop.store(false);
  faulting_thread.store(0);
  for (Worker& worker : workers) {
    worker.thread.store(0);
    worker.serves.store(0);
    worker.served.store(0);
  }
  worker_count.store(1);
  unanswered.store(0);
  signals.store(0);
  signals_seen.store(0);
  state.store(absent);
  kept_on.store(0);
  workers_in_use.store(1);
  starved.store(false);
  rests.store(false);
}

void AffinityLink::signal() {
  signals.fetch_add(1);
  os::wake_all(signals);
}

void AffinityLink::set_state(State next) {
  state.store(next, std::memory_order_release);
  os::wake_all(state);
}

}  // namespace nearfar::tier

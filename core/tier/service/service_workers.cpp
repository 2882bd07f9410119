// Faults that several threads of the pager's serve, each those of the program's threads that are
// kept on its processor.

#include <algorithm>
#include <utility>

#include "tier/os/clock.h"
#include "tier/os/thread.h"
#include "tier/service/event_loop.h"
#include "tier/service/service.h"

namespace nearfar::tier {

/// As many as there are processors; fewer where there was no descriptor or no memory for one.
void Service::start_workers() {
  workers_.were_wanted = true;
  if (affinity_.is_sandboxed(pager_.memory().status_descriptor())) return;
  const std::size_t wanted = std::min(affinity_.processors(), workers_.all.size());
  const os::Tracer tracer = own_tracer_.for_new_threads();
  for (; workers_.started < wanted; ++workers_.started) {
    Worker& worker = workers_.all[workers_.started];
    if (!worker.wake_up.is_open()) break;
    worker.service = this;
    worker.number = workers_.started;
    const auto run = [](void* self) {
      auto& own = *static_cast<Worker*>(self);
      own.service->run_worker(own);
    };
    const int thread = os::start_thread(run, &worker, tracer);
    if (thread == 0) break;
    pager_.set_thread(workers_.started, thread);
    affinity_.set_thread(workers_.started, thread);
  }
  affinity_.set_workers(workers_.started);
}

void Service::run_worker(Worker& worker) {
  own_tracer_.add_this_thread(worker.number);
  for (;;) {
    if (!work_in(worker)) rest(worker);
  }
}

void Service::rest(const Worker& worker) {
  constexpr int until_an_event = -1;
  const EventSources sources{.wake_up = worker.wake_up.descriptor(),
                             .messages = worker.reads ? pager_.uffd().descriptor() : -1};
  const Events events = wait_for_events(sources, until_an_event);
  if (events.wake_up) worker.wake_up.clear();
  if (events.closed) os::fail(closed_descriptor);
}

/// Serves one fault of those that a worker knows of, or that the kernel tells of. False if there is
/// none; then it may rest.
bool Service::work_in(Worker& worker) {
  lock_.lock().lock_soon();
  worker.rests = false;
  pager_.complete_copies();
  const std::optional<WaitingFault> found = find_waiting(worker);
  if (!found) {
    const bool again = !worker.rests;
    lock_.lock().unlock();
    if (again) os::call(__NR_sched_yield);  // to the thread whose change is under way
    return again;
  }
  const WaitingFault& fault = *found;
  const bool last = !waiting_.has_any_of(worker.number);
  report_faults(worker.number, 1, pager_.came_ahead());
  if (!copy_page(fault.at, fault.touch)) {
    const bool served = serve_in_worker(fault);
    if (!served) {
      discards_.report_fault(false);
      waiting_.add(fault);
      worker.must_read = true;
    }
    lock_.lock().unlock();
    if (!served) {
      os::call(__NR_sched_yield);
      return true;
    }
  }
  discards_.report_fault(true);
  pager_.add_stall(os::monotonic_ns() - fault.since);
  pager_.wake(fault.at);
  if (last) affinity_.forget_fault(worker.number, fault.thread);
  return true;
}

/// The fault that this worker is to serve next. One that is known already may be served while other
/// threads copy pages, and before the kernel is asked for messages: if these tell of a change, the
/// page does not come. Before the kernel is asked, and before anything else, copies are completed.
std::optional<WaitingFault> Service::find_waiting(Worker& worker) {
  const bool must_read = std::exchange(worker.must_read, false) || !lock_.may_copy();
  if (!must_read && !pager_.remap().is_pending()) {
    if (const auto known = take_waiting(worker.number)) return known;
  }
  wait_for_copies();
  const bool several = worker.number < affinity_.workers() && !pager_.fork().is_paused();
  if (several) static_cast<void>(read_messages(worker.number));
  uncharge_finished_discards();
  const bool early = several && pager_.remap().is_pending() && pager_.remap().finish();
  if (!early) {
    if (const auto read = take_waiting(worker.number)) return read;
  }
  worker.rests = !early;
  // Other workers that are awake hand on faults of this one.
  worker.reads =
      several && can_read() && (worker.number == 0 || affinity_.keeps_any(worker.number));
  return std::nullopt;
}

/// Nothing while a fork goes on, when one thread serves all.
std::optional<WaitingFault> Service::take_waiting(std::size_t worker) {
  if (pager_.fork().is_paused() || !pager_.fork().can_serve()) return std::nullopt;
  return waiting_.take_first(
      worker, [this](const WaitingFault& fault) { return !held_.touches(fault.at); });
}

/// Serves a fault for which more is to be done than a copy, while other threads wait. Whether the
/// page is there; the thread that waits for it is to be woken when the lock has been given back.
/// The caller holds the lock, before and after.
bool Service::serve_in_worker(const WaitingFault& fault) {
  wait_for_copies();
  if (pager_.fork().is_paused() || pager_.remap().is_pending()) return false;
  if (pager_.budget().free() == 0) make_room();
  return pager_.fault(fault.at, fault.touch, os::Waking::later);
}

}  // namespace nearfar::tier

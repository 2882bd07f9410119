// Faults that several threads of the pager's serve, each those of the program's threads that are
// kept on its processor.

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tier/os/clock.h"
#include "tier/os/thread.h"
#include "tier/service/service.h"

namespace nearfar::tier {

/// As many as there are processors. Where there was no descriptor for one, or there is no memory,
/// there are fewer.
void Service::start_workers() {
  has_tried_workers_ = true;
  if (affinity_.is_sandboxed(pager_.memory().descriptors()[0])) return;
  const std::size_t wanted = std::min(affinity_.processors(), workers_.size());
  for (; started_ < wanted; ++started_) {
    Worker& worker = workers_[started_];
    if (worker.bell < 0) break;
    worker.service = this;
    worker.number = started_;
    const auto run = [](void* self) {
      auto& own = *static_cast<Worker*>(self);
      own.service->run_worker(own);
    };
    const int thread = os::start_thread(run, &worker);
    if (thread == 0) break;
    pager_.set_thread(started_, thread);
    affinity_.follows(started_, thread);
  }
  affinity_.set_workers(started_);
}

void Service::run_worker(Worker& worker) {
  for (;;) {
    if (work_in(worker)) continue;
    std::array<pollfd, 2> polled{{
        {.fd = worker.bell, .events = POLLIN, .revents = 0},
        {.fd = worker.reads ? pager_.uffd().descriptor() : -1, .events = POLLIN, .revents = 0},
    }};
    constexpr int until_then = -1;
    os::call(__NR_poll, os::word(polled.data()), os::word(polled.size()), until_then);
    std::uint64_t rung = 0;
    if ((polled[0].revents & POLLIN) != 0)
      os::call(__NR_read, worker.bell, os::word(&rung), sizeof rung);
    if (((polled[0].revents | polled[1].revents) & POLLNVAL) != 0) os::fail(closed_descriptor);
  }
}

/// Serves one fault of those that a worker knows of, or that the kernel tells of. False if there is
/// none; then it may rest.
bool Service::work_in(Worker& worker) {
  one_thread_.lock_soon();
  worker.rests = false;
  pager_.complete_copies();
  Waiting waiting{};
  if (!find_waiting(worker, waiting)) {
    const bool again = !worker.rests;
    one_thread_.unlock();
    if (again) os::call(__NR_sched_yield);  // to whoever's change is under way
    return again;
  }
  const auto same = [&](const Waiting& other) { return other.worker == worker.number; };
  const bool last = std::none_of(waiting_, waiting_ + waiting_count_, same);
  report_faults(worker.number, 1, pager_.came_ahead());
  if (!copy_page(waiting.at, waiting.touch)) {
    const bool served = serve_in_worker(waiting);
    if (!served) {
      tell_discards(false);
      waiting_[waiting_count_++] = waiting;
      worker.asks = true;
    }
    one_thread_.unlock();
    if (!served) {
      os::call(__NR_sched_yield);
      return true;
    }
  }
  tell_discards(true);
  pager_.add_stall(os::monotonic_ns() - waiting.since);
  pager_.wake(waiting.at);
  if (last) affinity_.knows_of_no_other(worker.number, waiting.thread);
  return true;
}

/// What this worker is to serve next. A fault that is known already may be, while others copy pages
/// and whatever the kernel has to tell: if that is of a change, the page does not come. Before the
/// kernel is asked, and before anything else, what others copy is to be there.
bool Service::find_waiting(Worker& worker, Waiting& found) {
  const bool asks = std::exchange(worker.asks, false) || grounding_.load() != 0;
  if (!asks && !pager_.remap().is_pending() && take_waiting(worker.number, found)) return true;
  wait_for_copies();
  const bool several = worker.number < affinity_.workers() && !pager_.fork().is_paused();
  if (several) static_cast<void>(read_messages(worker.number));
  finish_discards();
  const bool early = several && pager_.remap().is_pending() && pager_.remap().finish();
  if (!early && take_waiting(worker.number, found)) return true;
  worker.rests = !early;
  // Others that are awake hand on what is this one's.
  worker.reads =
      several && can_read() && (worker.number == 0 || affinity_.keeps_any(worker.number));
  return false;
}

/// The first fault that this worker is to serve, and can; it is known no more. Nothing while a fork
/// goes on, when one thread serves all.
bool Service::take_waiting(std::size_t worker, Waiting& taken) {
  if (pager_.fork().is_paused() || !pager_.fork().can_serve()) return false;
  Waiting* const end = waiting_ + waiting_count_;
  Waiting* const found = std::find_if(waiting_, end, [&](const Waiting& waiting) {
    return waiting.worker == worker && !is_held(waiting.at);
  });
  if (found == end) return false;
  taken = *found;
  std::copy(found + 1, end, found);
  --waiting_count_;
  return true;
}

/// Serves a fault for which more is to be done, and others are to wait. Whether the page is there;
/// who waits for it is to be woken when the lock has been given back. The caller has it, before and
/// after.
bool Service::serve_in_worker(const Waiting& waiting) {
  wait_for_copies();
  if (pager_.fork().is_paused() || pager_.remap().is_pending()) return false;
  if (pager_.budget().free() == 0) make_room();
  return pager_.fault(waiting.at, waiting.touch, os::Waking::later);
}

}  // namespace nearfar::tier

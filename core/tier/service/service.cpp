#include "tier/service/service.h"

#include "tier/service/event_loop.h"

namespace nearfar::tier {

void Service::run() {
  own_tracer_.add_this_thread(0);
  constexpr std::uint32_t most_rounds = 64;  // without listening to more than faults and requests
  for (std::uint32_t round = 0;; ++round) {
    const bool busy = work();
    if (!busy || round % most_rounds == 0) listen(busy);
  }
}

/// Does some of what is to be done; false if there was nothing.
bool Service::work() {
  if (!workers_.were_wanted && affinity_.wants_workers()) start_workers();
  const bool several = affinity_.workers() > 1 && !pager_.fork().is_paused();
  const bool served = several && work_in(workers_.all[0]);
  if (served) {
    ++progress_.since_requests;
    if (!is_time_for_requests()) return true;
  }
  requests_.begin_serving();
  progress_.since_requests = 0;
  return work_alone(several, served);
}

/// Whether to look at something else than faults, though there are more.
bool Service::is_time_for_requests() const {
  constexpr std::uint32_t most_faults = 64;
  return requests_.has_new() || progress_.since_requests >= most_faults;
}

bool Service::work_alone(bool several, bool served) {
  Worker& first = workers_.all[0];
  {
    const Alone alone(*this);
    first.rests = false;
    const bool faults = !several && read_messages(0);
    // Before faults: a page that is touched after it was discarded is charged anew.
    uncharge_finished_discards();
    bool again = pager_.remap().finish();
    if (again) discards_.report_fault(false);
    again = again || (!several && serve_faults());
    if (!again) {
      const bool only_resume = pager_.fork().is_paused();  // the state of pages must not change
      const bool requests =
          requests_.serve(only_resume, [this](Request& request) { return serve(request); });
      const bool ordered = pager_.obey_orders();
      own_tracer_.trace_all(may_have_far_pages() && !pager_.is_to_stay_near());
      // A thread that was served may fault again before this one could sleep, so look for that
      // first.
      const bool more = !served && (pager_.evict_in_background() || pager_.continue_read_ahead());
      const bool moved = !only_resume && !pager_.fork().is_paused() && pager_.flat().work();
      const bool busy = served || more || faults || requests || ordered || moved;
      first.rests = !busy;
      first.reads = can_read();
      return busy;
    }
  }
  os::call(__NR_sched_yield);  // to the thread whose change is under way
  return true;
}

/// Learns of faults, requests, orders, and the ends of children; waits for one without other work.
void Service::listen(bool has_work) {
  if (!has_work) affinity_.report_idle();
  const bool forks = pager_.fork().is_paused();
  const EventSources sources{
      .wake_up = pager_wake_up().descriptor(),
      .messages = workers_.all[0].reads ? pager_.uffd().descriptor() : -1,
      .tree = wake_pipe_.descriptor(),
      .children = forks ? -1 : pager_.fork().children().descriptor(),
  };
  const Wait wait{.has_work = has_work,
                  .others_share_near = pager_.budget().others() != 0,
                  .awaits_discards = discards_.is_awaited(),
                  .serves_while_forking = forks && waiting_.size() != 0,
                  .until_due = forks ? -1 : pager_.flat().milliseconds()};
  const Events events = wait_for_events(sources, milliseconds_of(wait));
  if (events.wake_up) pager_wake_up().clear();
  if (events.closed) os::fail(closed_descriptor);
  if (events.tree) wake_pipe_.acknowledge();
  if (events.children) {
    const Alone alone(*this);
    pager_.fork().reap();
  }
}

/// What a tracer could wait for in vain, if it stopped the pager's threads.
bool Service::may_have_far_pages() const {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Member& own = pager_.budget().member();
  return pager_.flat().is_on() || own.far_slots.load(relaxed) != 0 ||
         own.managed_pages.load(relaxed) > own.near_pages.load(relaxed);
}

}  // namespace nearfar::tier

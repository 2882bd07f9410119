// Faults that the threads which have them serve in the handlers of their signals.

#include "tier/os/clock.h"
#include "tier/service/service.h"

namespace nearfar::tier {

bool Service::fault(os::Place at, os::Touch touch, UnmanagedFault& last) {
  const std::uint64_t begun = os::monotonic_ns();
  lock_.lock_for_fault();
  pager_.complete_copies();
  count_crowd();
  uncharge_finished_discards();
  if (copy_page(at, touch)) {
    discards_.report_fault(true);
    pager_.add_stall(os::monotonic_ns() - begun);
    return true;
  }
  wait_for_copies();
  const bool can_be = !pager_.remap().is_pending() && can_serve(at);
  const bool ours = !can_be || pager_.remap().claim(at);
  const bool tries = can_be && ours;
  const bool lacks_room = tries && handlers_.crowd != 0 && pager_.budget().free() == 0;
  if (lacks_room) make_room();
  const bool served = tries && pager_.fault(at, touch);
  if (served && !pager_.remap().manages(at)) ++changes_;  // the kernel serves it from now on
  const bool unmanaged = !ours && is_unmanaged_again(at, last);
  if (!ours) last = {.at = at, .changes = changes_};
  if (lacks_room) {
    lock_.unlock_after_making_room(handlers_.others);
  } else {
    lock_.lock().unlock();
  }
  if (!ours) return !unmanaged;
  pager_.add_stall(os::monotonic_ns() - begun);
  if (can_be) discards_.report_fault(served);
  if (!served) os::call(__NR_sched_yield);
  return true;
}

/// Remembers for a while that several threads have faulted at once.
void Service::count_crowd() {
  constexpr std::uint32_t remembered = 1024;
  if (pager_.in_flight().any()) {
    handlers_.crowd = remembered;
  } else if (handlers_.crowd != 0) {
    --handlers_.crowd;
  }
}

/// Whether memory that is not managed was not when it was touched either: the thread has touched it
/// since it was last seen to be so, and nothing has become managed or ceased to be in between.
bool Service::is_unmanaged_again(os::Place at, const UnmanagedFault& last) const {
  return last.at == at && last.changes == changes_;
}

}  // namespace nearfar::tier

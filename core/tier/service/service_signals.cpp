// Faults that the threads which have them serve in the handlers of their signals.

#include "tier/os/clock.h"
#include "tier/service/service.h"

namespace nearfar::tier {

/// Lets those land that have the lock to get for it. The caller has it, before and after.
void Service::wait_for_copies() {
  const InFlight& copies = pager_.in_flight();
  pager_.complete_copies();
  if (!copies.any()) return;
  constexpr std::uint64_t longest_ns = 1'000'000;  // who is over may not get to run to say so
  grounding_.fetch_add(1);
  while (copies.any()) {
    one_thread_.unlock();
    for (int i = 0; i < Lock::looks && copies.any_unfinished(); ++i) __builtin_ia32_pause();
    const std::uint32_t seen = left_.load();
    sleepers_.store(1);
    if (copies.any_unfinished()) os::wait_for(left_, seen, longest_ns);
    one_thread_.lock_soon();
    pager_.complete_copies();
  }
  grounding_.fetch_sub(1);
}

/// Serves a fault beside others. The caller has the lock before, and not any more if that has been
/// done. False if the fault is not of that kind, or something has changed meanwhile.
bool Service::copy_page(os::Place at, os::Touch touch) {
  if (grounding_.load() != 0 || pager_.remap().is_pending() || is_held(at)) return false;
  PageCopy* const copying = pager_.begin_copy(at, touch);
  if (copying == nullptr) return false;
  one_thread_.unlock();
  const bool came = pager_.copy(*copying);
  copying->left.store(true);
  if (sleepers_.load() != 0) {
    sleepers_.store(0);
    left_.fetch_add(1);
    os::wake_all(left_);
  }
  if (!came) one_thread_.lock_soon();
  return came;
}

/// Where several threads fault at once, evicts for many faults to come. Others that fault meanwhile
/// sleep: a page that leaves has to be told to every processor that runs the program, which takes
/// longer than the rest of it, and to wake one up takes longer still, so not a batch at a time.
void Service::make_room() {
  constexpr int most_batches = 8;
  one_thread_.hold_for_long();
  for (int i = 0; i < most_batches && pager_.evict_in_background(); ++i) {
  }
}

/// Takes the lock. While somebody makes room, others sleep until that is over. When it is, as many
/// are woken as there are processors for: any more would only take these from each other, again
/// and again. Who has slept longest comes first, and nobody sleeps for long if no more room is
/// made.
void Service::lock_for_fault() {
  constexpr std::uint64_t longest_ns = 3'000'000;
  const std::uint32_t seen = rooms_.load();
  if (one_thread_.lock_unless_for_long()) return;
  os::wait_for(rooms_, seen, longest_ns);
  one_thread_.lock_soon();
}

bool Service::fault(os::Place at, os::Touch touch, Unmanaged& last) {
  constexpr std::uint32_t remembered = 1024;
  const std::uint64_t begun = os::monotonic_ns();
  lock_for_fault();
  pager_.complete_copies();
  if (pager_.in_flight().any()) {
    crowd_ = remembered;
  } else if (crowd_ != 0) {
    --crowd_;
  }
  finish_discards();
  if (copy_page(at, touch)) {
    tell_discards(true);
    pager_.add_stall(os::monotonic_ns() - begun);
    return true;
  }
  wait_for_copies();
  const bool can_be = !pager_.remap().is_pending() && !is_held(at) && pager_.fork().can_serve();
  const bool ours = !can_be || pager_.remap().claim(at);
  const bool lacks_room = can_be && ours && crowd_ != 0 && pager_.budget().free() == 0;
  if (lacks_room) make_room();
  const bool served = can_be && ours && pager_.fault(at, touch);
  if (served && !pager_.remap().manages(at)) ++changes_;  // it is the kernel's matter from now on
  const bool unmanaged = !ours && is_unmanaged(at, last);
  one_thread_.unlock();
  if (lacks_room) {
    rooms_.fetch_add(1);
    os::wake(rooms_, others_);
  }
  if (ours) pager_.add_stall(os::monotonic_ns() - begun);
  if (can_be && ours) tell_discards(served);
  if (ours && !served) os::call(__NR_sched_yield);
  return !unmanaged;
}

/// Whether memory that is not managed was not when it was touched either: the thread has touched it
/// since it was last seen to be so, and nothing has become managed or ceased to be in between.
bool Service::is_unmanaged(os::Place at, Unmanaged& last) const {
  const bool again = last.at == at && last.changes == changes_;
  last = {.at = at, .changes = changes_};
  return again;
}

}  // namespace nearfar::tier

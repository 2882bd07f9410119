// What the kernel tells the pager: faults, and changes that the program makes to its memory.

#include <span>

#include "tier/os/clock.h"
#include "tier/pager/sizes.h"
#include "tier/service/service.h"

namespace nearfar::tier {

bool Service::can_read() const {
  constexpr std::size_t once = os::Uffd::most_read;
  return waiting_.has_room_for(once) && held_.has_room_for(once);
}

/// Reads which threads wait for which pages, and applies changes before any fault is served: the
/// thread that made a change goes on, and must not find what was there. Whether there were faults.
bool Service::read_messages(std::size_t reader) {
  reads_messages_.store(true);
  const bool faults = read_all_messages(reader);
  reads_messages_.store(false);
  return faults;
}

bool Service::read_all_messages(std::size_t reader) {
  std::array<os::Message, os::Uffd::most_read> messages;
  bool faults = false;
  for (std::size_t count = messages.size(); count == messages.size();) {
    if (!can_read()) return faults;
    count = pager_.uffd().read(messages);
    if (count != 0) progress_.learnt_ns = os::monotonic_ns();
    for (const os::Message& message : std::span(messages).first(count)) {
      if (message.kind == os::Message::Kind::fault) {
        add_fault(message, reader);
        faults = true;
      } else {
        add_change(message);
      }
    }
  }
  return faults;
}

void Service::add_fault(const os::Message& message, std::size_t reader) {
  pager_.prefetch(message.begin);
  const std::size_t number = affinity_.add_fault(message.thread, reader);
  waiting_.add({.at = message.begin,
                .touch = message.touch,
                .thread = message.thread,
                .worker = number,
                .since = progress_.learnt_ns});
  Worker& worker = workers_.all[number];
  if (worker.rests) worker.wake_up.signal();
  worker.rests = false;
  ++progress_.new_faults;
}

void Service::add_change(const os::Message& change) {
  if (pager_.fork().is_paused()) {
    held_.add(change);
  } else {
    apply(change);
  }
}

void Service::apply(const os::Message& change) {
  switch (change.kind) {
    case os::Message::Kind::removed:
      if (requests_.has_discard_of(change)) {
        requests_.charge_discard_of(change, pager_.remap().discard(change.begin, change.end));
      } else {
        pager_.remap().on_removed(change.begin, change.end);
      }
      break;
    case os::Message::Kind::unmapped:
      ++changes_;
      pager_.remap().on_unmapped(change.begin, change.end);
      break;
    case os::Message::Kind::moved:
      ++changes_;
      pager_.remap().on_moved(change.begin, change.end, change.to);
      break;
    case os::Message::Kind::fault:
      break;
  }
}

/// After a fork.
void Service::apply_held() {
  for (const os::Message& change : held_.all()) apply(change);
  held_.clear();
}

/// In the child, the changes that the kernel told of before it was made: the threads that made them
/// went on.
void Service::apply_held_in_child() {
  for (const os::Message& change : held_.all()) {
    switch (change.kind) {
      case os::Message::Kind::removed:
        pager_.fork().on_removed_in_parent(change.begin, change.end);
        break;
      case os::Message::Kind::unmapped:
        pager_.remap().on_unmapped(change.begin, change.end);
        break;
      case os::Message::Kind::moved:
        os::fail("memory was moved past libc while another thread forked; this child ends here");
      case os::Message::Kind::fault:
        break;
    }
  }
}

/// Whether the state of a page may change now.
bool Service::can_serve(os::Place at) const {
  return pager_.fork().can_serve() && !held_.touches(at);
}

/// True if some could not be served before more messages have been read.
bool Service::serve_faults() {
  if (waiting_.size() == 0) return false;
  const std::uint64_t came_ahead = pager_.came_ahead();
  const std::size_t before = waiting_.size();
  std::uint64_t stalled = 0;
  bool again = false;
  // A thread that is woken on this processor runs at once, and the pager's thread again when it
  // faults: two switches of threads for each fault. Woken together, they run one after the other.
  // Not while forking, as a child would inherit a pager that wakes later; nor while some faults
  // cannot be served, whose threads would be woken in vain.
  const bool together =
      before > 1 && affinity_.is_same_idle() && !pager_.fork().is_paused() && !progress_.unserved;
  const os::Waking waking = together ? os::Waking::later : os::Waking::at_once;
  waiting_.serve_all([&](const WaitingFault& fault) {
    const bool can_be = can_serve(fault.at);
    if (can_be && pager_.fault(fault.at, fault.touch, waking)) {
      stalled += os::monotonic_ns() - fault.since;
      return true;
    }
    again = again || can_be;
    return false;
  });
  if (together) {
    pager_.wake_all();
    stalled = (before - waiting_.size()) * (os::monotonic_ns() - progress_.learnt_ns);
  }
  progress_.unserved = again;
  pager_.add_stall(stalled);
  if (progress_.new_faults != 0) report_faults(0, progress_.new_faults, came_ahead);
  if (waiting_.size() == 0) affinity_.forget_faults();
  discards_.report_fault(!again);
  return again;
}

/// A worker has served so many faults, before which so many pages had come beside those that were
/// touched; other faults may have come since.
void Service::report_faults(std::size_t worker, std::size_t faults, std::uint64_t came_ahead) {
  if (progress_.new_faults == 0) {
    affinity_.report_served(worker, faults);
    return;
  }
  const std::uint64_t ahead = came_ahead - progress_.came_ahead;
  // Many pages behind one fault are work that would have been several faults'.
  affinity_.report_served(worker, faults + ahead / longest_run);
  const bool kept = affinity_.report_faults(progress_.learnt_ns, progress_.new_faults, ahead);
  pager_.add_affinity_faults(kept ? progress_.new_faults : 0);
  progress_.new_faults = 0;
  progress_.came_ahead = came_ahead;
}

void Service::wait_for_copies() {
  lock_.wait_for_copies(pager_.in_flight(), [this] { pager_.complete_copies(); });
}

/// Serves a fault beside others. The caller holds the lock before, and after it unless the page
/// came. False if the fault needs more than a copy, or something has changed meanwhile.
bool Service::copy_page(os::Place at, os::Touch touch) {
  if (!lock_.may_copy() || pager_.remap().is_pending() || held_.touches(at)) return false;
  PageCopy* const copying = pager_.begin_copy(at, touch);
  if (copying == nullptr) return false;
  lock_.lock().unlock();
  const bool came = pager_.copy(*copying);
  copying->left.store(true);
  lock_.leave_copy();
  if (!came) lock_.lock().lock_soon();
  return came;
}

/// Where several threads fault at once, evicts for many faults to come. A page that leaves has to
/// be told to every processor that runs the program, and waking a thread takes longer still, so not
/// a batch at a time.
void Service::make_room() {
  constexpr int most_batches = 8;
  lock_.lock().hold_for_long();
  for (int i = 0; i < most_batches && pager_.evict_in_background(); ++i) {
  }
}

}  // namespace nearfar::tier

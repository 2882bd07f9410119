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
void Service::start_lanes() {
  has_tried_lanes_ = true;
  if (follower_.is_sandboxed(pager_.memory().descriptors()[0])) return;
  const std::size_t wanted = std::min(follower_.processors(), lanes_.size());
  for (; started_ < wanted; ++started_) {
    Lane& lane = lanes_[started_];
    if (lane.bell < 0) break;
    lane.service = this;
    lane.number = started_;
    const auto run = [](void* self) {
      auto& own = *static_cast<Lane*>(self);
      own.service->run_lane(own);
    };
    const int thread = os::start_thread(run, &lane);
    if (thread == 0) break;
    pager_.set_thread(started_, thread);
    follower_.follows(started_, thread);
  }
  follower_.has_lanes(started_);
}

void Service::run_lane(Lane& lane) {
  for (;;) {
    if (work_in(lane)) continue;
    std::array<pollfd, 2> polled{{
        {.fd = lane.bell, .events = POLLIN, .revents = 0},
        {.fd = lane.reads ? pager_.uffd().descriptor() : -1, .events = POLLIN, .revents = 0},
    }};
    constexpr int until_then = -1;
    os::call(__NR_poll, os::word(polled.data()), os::word(polled.size()), until_then);
    std::uint64_t rung = 0;
    if ((polled[0].revents & POLLIN) != 0)
      os::call(__NR_read, lane.bell, os::word(&rung), sizeof rung);
    if (((polled[0].revents | polled[1].revents) & POLLNVAL) != 0) os::fail(closed_descriptor);
  }
}

/// Serves one fault of those that a lane knows of, or that the kernel tells of. False if there is
/// none; then it may rest.
bool Service::work_in(Lane& lane) {
  one_thread_.lock_soon();
  lane.rests = false;
  pager_.complete_copies();
  Waiting waiting{};
  if (!find_waiting(lane, waiting)) {
    const bool again = !lane.rests;
    one_thread_.unlock();
    if (again) os::call(__NR_sched_yield);  // to whoever's change is under way
    return again;
  }
  const auto same = [&](const Waiting& other) { return other.lane == lane.number; };
  const bool last = std::none_of(waiting_, waiting_ + waiting_count_, same);
  tell_follower(lane.number, 1, pager_.came_ahead());
  if (!copy_page(waiting.at, waiting.touch)) {
    const bool served = serve_in_lane(waiting);
    if (!served) {
      tell_discards(false);
      waiting_[waiting_count_++] = waiting;
      lane.asks = true;
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
  if (last) follower_.knows_of_no_other(lane.number, waiting.thread);
  return true;
}

/// What this lane is to serve next. A fault that is known already may be, while others copy pages
/// and whatever the kernel has to tell: if that is of a change, the page does not come. Before the
/// kernel is asked, and before anything else, what others copy is to be there.
bool Service::find_waiting(Lane& lane, Waiting& found) {
  const bool asks = std::exchange(lane.asks, false) || grounding_.load() != 0;
  if (!asks && !pager_.remap().is_pending() && take_waiting(lane.number, found)) return true;
  wait_for_copies();
  const bool several = lane.number < follower_.lanes() && !pager_.fork().is_paused();
  if (several) static_cast<void>(read_messages(lane.number));
  finish_discards();
  const bool early = several && pager_.remap().is_pending() && pager_.remap().finish();
  if (!early && take_waiting(lane.number, found)) return true;
  lane.rests = !early;
  // Others that are awake hand on what is this one's.
  lane.reads = several && can_read() && (lane.number == 0 || follower_.keeps_any(lane.number));
  return false;
}

/// The first fault that this lane is to serve, and can; it is known no more. Nothing while a fork
/// goes on, when one thread serves all.
bool Service::take_waiting(std::size_t lane, Waiting& taken) {
  if (pager_.fork().is_paused() || !pager_.fork().can_serve()) return false;
  Waiting* const end = waiting_ + waiting_count_;
  Waiting* const found = std::find_if(waiting_, end, [&](const Waiting& waiting) {
    return waiting.lane == lane && !is_held(waiting.at);
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
bool Service::serve_in_lane(const Waiting& waiting) {
  wait_for_copies();
  if (pager_.fork().is_paused() || pager_.remap().is_pending()) return false;
  if (pager_.budget().free() == 0) make_room();
  return pager_.fault(waiting.at, waiting.touch, os::Waking::later);
}

}  // namespace nearfar::tier

#include "tier/service.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "tier/os/clock.h"
#include "tier/os/thread.h"

namespace nearfar::tier {

void Service::start() {
  if (bell_ >= 0) os::call(__NR_close, bell_);
  const long bell = os::call(__NR_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell < 0) os::fail("no descriptors left", bell);
  bell_ = os::hide(static_cast<int>(bell));
  tree_bell_.listen();
  for (Letter& letter : letters_) letter.phase.store(empty);
  const auto run = [](void* self) { static_cast<Service*>(self)->run(); };
  const int thread = os::start_thread(run, this);
  if (thread == 0) os::fail("no memory for the pager's thread");
  pager_.runs_in(thread);
}

int Service::first_owned(int from) {
  int first = -1;
  const auto consider = [&](int descriptor) {
    if (descriptor >= from && (first < 0 || descriptor < first)) first = descriptor;
  };
  consider(bell_);
  consider(kept_);
  consider(tree_bell_.pipe());
  consider(tree_bell_.descriptor());
  consider(pager_.uffd().descriptor());
  consider(pager_.uffd().device());
  consider(pager_.far_descriptor());
  consider(pager_.status_descriptor());
  consider(pager_.children().own_end());
  consider(pager_.children().descriptor());
  for (const Children::Child& child : pager_.children().all()) {
    consider(child.alive);
    consider(child.held);
  }
  return first;
}

bool Service::ask(const Request& request) {
  for (std::size_t i = 0;; i = (i + 1) % letters_.size()) {
    Letter& letter = letters_[i];
    std::uint32_t free = empty;
    if (!letter.phase.compare_exchange_strong(free, writing)) {
      if (i + 1 == letters_.size()) os::call(__NR_sched_yield);
      continue;
    }
    letter.request = request;
    letter.phase.store(posted);
    const std::uint64_t one = 1;
    os::call(__NR_write, bell_, os::word(&one), sizeof one);
    while (letter.phase.load() == posted) os::wait(letter.phase, posted);
    const bool done = letter.done;
    letter.phase.store(empty);
    return done;
  }
}

void Service::run() {
  for (;;) {
    serve_faults();
    const bool requests = serve_requests();
    const bool ordered = pager_.follow_orders();
    const bool evicted = pager_.evict_in_background();
    if (!requests && !ordered && !evicted) sleep();
  }
}

void Service::serve_faults() {
  if (!pager_.can_serve()) return;
  std::array<os::Place, 16> faults;
  const std::size_t count = pager_.uffd().read(faults.data(), faults.size());
  if (count == 0) return;
  const std::uint64_t learnt = os::monotonic_ns();
  std::uint64_t stalled = 0;
  for (std::size_t i = 0; i < count; ++i) {
    pager_.fault(faults[i]);
    stalled += os::monotonic_ns() - learnt;
  }
  pager_.stalled(stalled);
}

bool Service::serve_requests() {
  bool any = false;
  for (Letter& letter : letters_) {
    if (letter.phase.load() != posted) continue;
    // While the state of pages must not change, only the fork itself goes on.
    if (pager_.paused() && letter.request.kind != Request::Kind::resume) continue;
    letter.done = serve(letter.request);
    letter.phase.store(writing);  // done: whoever asked puts the letter back
    os::wake_all(letter.phase);
    any = true;
  }
  return any;
}

bool Service::serve(const Request& request) {
  switch (request.kind) {
    case Request::Kind::discard:
      return pager_.discard(request.begin, request.end);
    case Request::Kind::move:
      return pager_.move(request.begin, request.end, request.length);
    case Request::Kind::cover:
      return pager_.cover(request.begin, request.end);
    case Request::Kind::uncover:
      pager_.uncover(request.begin, request.end);
      break;
    case Request::Kind::agree_to_fork:
      return pager_.agree_to_fork();
    case Request::Kind::pause:
      return pager_.pause();
    case Request::Kind::resume:
      pager_.resume();
      break;
    case Request::Kind::sample:
      pager_.sample();
      break;
    case Request::Kind::will_need:
      pager_.will_need(request.begin, request.end);
      break;
    case Request::Kind::cold:
      pager_.cold(request.begin, request.end);
      break;
    case Request::Kind::keep_near:
      return pager_.keep_near(request.begin, request.end);
    case Request::Kind::may_leave:
      pager_.may_leave(request.begin, request.end);
      break;
  }
  return true;
}

/// Waits for a fault, a request, or the end of a child.
void Service::sleep() {
  const int faults = pager_.can_serve() ? pager_.uffd().descriptor() : -1;
  const int children = pager_.paused() ? -1 : pager_.children().descriptor();
  std::array<pollfd, 4> polled{{
      {.fd = bell_, .events = POLLIN, .revents = 0},
      {.fd = faults, .events = POLLIN, .revents = 0},
      {.fd = tree_bell_.descriptor(), .events = POLLIN, .revents = 0},
      {.fd = children, .events = POLLIN, .revents = 0},
  }};
  // Others of the tree cannot ring the bell when they need room.
  constexpr int milliseconds = 20;
  const int timeout = pager_.budget().others() == 0 ? -1 : milliseconds;
  os::call(__NR_poll, os::word(polled.data()), os::word(polled.size()), timeout);
  if ((polled[0].revents & POLLIN) != 0) {
    std::uint64_t rung = 0;
    os::call(__NR_read, bell_, os::word(&rung), sizeof rung);
  }
  if (((polled[0].revents | polled[1].revents) & POLLNVAL) != 0)
    os::fail("the program closed a descriptor that its memory depends on");
  if ((polled[2].revents & POLLIN) != 0) tree_bell_.heard();
  if ((polled[3].revents & POLLIN) != 0) pager_.reap_children();
}

}  // namespace nearfar::tier

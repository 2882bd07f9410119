#include "tier/service/service.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <span>

#include "tier/os/clock.h"
#include "tier/os/keep.h"
#include "tier/os/thread.h"
#include "tier/pager/sizes.h"

namespace nearfar::tier {

/// Below 0 if there is no descriptor left.
int Service::make_bell() {
  const long bell = os::call(__NR_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
  return bell < 0 ? static_cast<int>(bell) : os::hide(static_cast<int>(bell));
}

void Service::start() {
  for (Worker& worker : workers_) {
    if (worker.bell >= 0) os::call(__NR_close, worker.bell);
    worker = {};
  }
  started_ = 1;
  has_tried_workers_ = false;
  const int bell = make_bell();
  if (bell < 0) os::fail("no descriptors left", bell);
  workers_[0].bell = bell;
  // Of workers to come, too: the program may be giving up what is not known to be ours just then.
  const PagerCpu wanted = pager_.wanted_cpu();
  const bool may_be_several = wanted == PagerCpu::automatic || wanted == PagerCpu::per_cpu;
  const std::size_t processors = os::cpus_of(0).count();
  others_ = static_cast<int>(std::max<std::size_t>(processors, 2)) - 1;
  const std::size_t most = may_be_several ? std::min(processors, workers_.size()) : 1;
  for (std::size_t i = 1; i < most; ++i) workers_[i].bell = make_bell();
  wake_pipe_.listen();
  for (Letter& letter : letters_) {
    letter.phase.store(empty);
    letter.charged = 0;
  }
  if (waiting_ == nullptr) {
    waiting_ =
        os::pointer<Waiting>(os::reserve((most_waiting + workers_.size()) * sizeof(Waiting)));
    held_ = os::pointer<os::Message>(os::reserve(most_held * sizeof(os::Message)));
    if (waiting_ == nullptr || held_ == nullptr) os::fail("no address space for the pager");
  }
  one_thread_.free_in_child();
  grounding_.store(0);
  sleepers_.store(0);
  pager_.in_flight().clear();
  waiting_count_ = 0;
  new_faults_ = 0;
  held_count_ = 0;
  reads_messages_.store(false);
  holds_unmaps_.store(false);
  paused_.store(0);
  refusals_.store(0);
  faults_first_.store(0);
  process_ = os::call(__NR_getpid);
  affinity_.start(pager_.uffd().descriptor(), wanted);
  const auto place = [](void* self) { static_cast<PagerAffinity*>(self)->place_for_ever(); };
  if (!os::keep_open(pager_.uffd().descriptor(), place, &affinity_))
    os::fail("no memory for a thread that keeps far memory");
  affinity_.wait_for_affinity_thread();
  const auto run = [](void* self) { static_cast<Service*>(self)->run(); };
  const int thread = os::start_thread(run, this);
  if (thread == 0) os::fail("no memory for the pager's thread");
  pager_.set_thread(0, thread);
  affinity_.follows(0, thread);
}

void Service::start_in_child(os::Place stack, std::int32_t process) {
  pager_.fork().become_child(stack, process);
  follow_in_child();
  pager_.fork().register_in_child();
  start();
}

int Service::first_owned(int from) {
  int first = -1;
  const auto consider = [&](int descriptor) {
    if (descriptor >= from && (first < 0 || descriptor < first)) first = descriptor;
  };
  for (const Worker& worker : workers_) consider(worker.bell);
  consider(kept_);
  consider(wake_pipe_.pipe());
  consider(wake_pipe_.descriptor());
  consider(pager_.first_owned(from));
  return first;
}

void Service::ring(Worker& worker) {
  const std::uint64_t one = 1;
  os::call(__NR_write, worker.bell, os::word(&one), sizeof one);
}

void Service::run() {
  constexpr std::uint32_t most_rounds = 64;  // without hearing of anything but faults and requests
  for (std::uint32_t round = 0;; ++round) {
    const bool busy = work();
    if (!busy || round % most_rounds == 0) listen(busy);
  }
}

/// Does some of what is to be done; false if there was nothing.
bool Service::work() {
  if (!has_tried_workers_ && affinity_.wants_workers()) start_workers();
  const bool several = affinity_.workers() > 1 && !pager_.fork().is_paused();
  const bool served = several && work_in(workers_[0]);
  if (served && !is_asked()) return true;
  bool again = false;
  {
    const Alone alone(*this);
    workers_[0].rests = false;
    const bool faults = !several && read_messages(0);
    finish_discards();  // before faults: who touches what it has discarded is charged anew
    again = pager_.remap().finish();
    if (again) tell_discards(false);
    again = again || (!several && serve_faults());
    if (!again) {
      const bool requests = serve_requests();
      const bool ordered = pager_.obey_orders();
      // Who was served may fault again before this thread could sleep, so it looks first.
      const bool more = !served && (pager_.evict_in_background() || pager_.continue_read_ahead());
      const bool busy = served || more || faults || requests || ordered;
      workers_[0].rests = !busy;
      workers_[0].reads = can_read();
      return busy;
    }
  }
  os::call(__NR_sched_yield);  // to whoever's change is under way
  return true;
}

/// Whether it is time to look at something else than faults, though there are more.
bool Service::is_asked() {
  constexpr std::uint32_t most_faults = 64;  // without hearing of anything else
  const bool asked = asked_.load(std::memory_order_relaxed) != 0 && asked_.exchange(0) != 0;
  if (asked || ++unasked_ == most_faults) unasked_ = 0;
  return unasked_ == 0;
}

/// Takes down who waits for what, and follows changes before any fault is served: whoever made
/// them goes on, and must not find what was there. Whether there were faults.
bool Service::read_messages(std::size_t reader) {
  reads_messages_.store(true);
  const bool faults = read_all_messages(reader);
  reads_messages_.store(false);
  return faults;
}

bool Service::read_all_messages(std::size_t reader) {
  bool faults = false;
  for (std::size_t count = messages_.size(); count == messages_.size();) {
    if (!can_read()) return faults;
    count = pager_.uffd().read(messages_);
    if (count != 0) learnt_ = os::monotonic_ns();
    for (const os::Message& message : std::span(messages_).first(count)) {
      if (message.kind == os::Message::Kind::fault) {
        pager_.prefetch(message.begin);
        const std::size_t worker = affinity_.faulted(message.thread, reader);
        waiting_[waiting_count_++] = {.at = message.begin,
                                      .touch = message.touch,
                                      .thread = message.thread,
                                      .worker = worker,
                                      .since = learnt_};
        if (workers_[worker].rests) ring(workers_[worker]);
        workers_[worker].rests = false;
        ++new_faults_;
        faults = true;
      } else if (pager_.fork().is_paused()) {
        if (message.kind != os::Message::Kind::removed) holds_unmaps_.store(true);
        held_[held_count_] = message;
        held_count_.fetch_add(1);  // after it: a child finds no more than there is
      } else {
        follow(message);
      }
    }
  }
  return faults;
}

void Service::follow(const os::Message& change) {
  switch (change.kind) {
    case os::Message::Kind::removed:
      if (Letter* const letter = discard_of(change)) {
        letter->charged += pager_.remap().discard(change.begin, change.end);
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

/// After a fork, what had to wait for its end.
void Service::follow_held() {
  for (const os::Message& change : std::span(held_, held_count_.load())) follow(change);
  held_count_ = 0;
  holds_unmaps_.store(false);
}

/// In the child, what was told before it was made: whoever made the change went on.
void Service::follow_in_child() {
  for (const os::Message& change : std::span(held_, held_count_.load())) {
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

/// Whether something has become of a page that is not followed yet.
bool Service::is_held(os::Place at) const {
  const auto holds = [&](const os::Message& change) {
    return (at >= change.begin && at < change.end) ||
           (at >= change.to && at - change.to < change.end - change.begin);
  };
  const std::span<const os::Message> all(held_, held_count_.load());
  return std::any_of(all.begin(), all.end(), holds);
}

/// True if some could not be served before more messages have been read.
bool Service::serve_faults() {
  if (waiting_count_ == 0) return false;
  const std::uint64_t came_ahead = pager_.came_ahead();
  std::uint64_t stalled = 0;
  std::size_t still = 0;
  bool again = false;
  // Who is woken there runs at once, and the pager's thread again when it faults: twice a switch of
  // threads for each. Woken together they run one after the other. Not while forking: a child would
  // inherit a pager that wakes later; nor while some cannot be served, who would be woken in vain.
  const bool together =
      waiting_count_ > 1 && affinity_.is_behind() && !pager_.fork().is_paused() && !unserved_;
  const os::Waking waking = together ? os::Waking::later : os::Waking::at_once;
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    const Waiting waiting = waiting_[i];
    const bool can_be = pager_.fork().can_serve() && !is_held(waiting.at);
    if (can_be && pager_.fault(waiting.at, waiting.touch, waking)) {
      stalled += os::monotonic_ns() - waiting.since;
    } else {
      waiting_[still++] = waiting;
      again = again || can_be;
    }
  }
  if (together) {
    pager_.wake_all();
    stalled = (waiting_count_ - still) * (os::monotonic_ns() - learnt_);
  }
  waiting_count_ = still;
  unserved_ = again;
  pager_.add_stall(stalled);
  if (new_faults_ != 0) report_faults(0, new_faults_, came_ahead);
  if (still == 0) affinity_.knows_of_none();
  tell_discards(!again);
  return again;
}

/// A worker has served so many faults, before which so many pages had come beside those that were
/// touched; other faults may have come since.
void Service::report_faults(std::size_t worker, std::size_t faults, std::uint64_t came_ahead) {
  if (new_faults_ == 0) {
    affinity_.served(worker, faults);
    return;
  }
  const std::uint64_t ahead = came_ahead - came_ahead_;
  // Many pages behind one fault are work that would have been several faults'.
  affinity_.served(worker, faults + ahead / longest_run);
  const bool kept = affinity_.learnt(learnt_, new_faults_, ahead);
  pager_.add_affinity_faults(kept ? new_faults_ : 0);
  new_faults_ = 0;
  came_ahead_ = came_ahead;
}

/// Hears of faults, requests, orders, and the ends of children; waits for one without other work.
void Service::listen(bool has_work) {
  if (!has_work) affinity_.nothing_to_do();
  const int messages = workers_[0].reads ? pager_.uffd().descriptor() : -1;
  const int children = pager_.fork().is_paused() ? -1 : pager_.fork().children().descriptor();
  std::array<pollfd, 4> polled{{
      {.fd = workers_[0].bell, .events = POLLIN, .revents = 0},
      {.fd = messages, .events = POLLIN, .revents = 0},
      {.fd = wake_pipe_.descriptor(), .events = POLLIN, .revents = 0},
      {.fd = children, .events = POLLIN, .revents = 0},
  }};
  // Others of the tree cannot ring the bell when they need room, nor who is killed in a discard.
  constexpr int milliseconds = 20;
  const bool is_rung = pager_.budget().others() == 0 && !pause_waits_.load();
  int patience = is_rung ? -1 : milliseconds;
  if (pager_.fork().is_paused() && waiting_count_ != 0)
    patience = 1;  // until one more can be served
  const int timeout = has_work ? 0 : patience;
  os::call(__NR_poll, os::word(polled.data()), os::word(polled.size()), timeout);
  if ((polled[0].revents & POLLIN) != 0) {
    std::uint64_t rung = 0;
    os::call(__NR_read, workers_[0].bell, os::word(&rung), sizeof rung);
  }
  if (((polled[0].revents | polled[1].revents) & POLLNVAL) != 0) os::fail(closed_descriptor);
  if ((polled[2].revents & POLLIN) != 0) wake_pipe_.acknowledge();
  if ((polled[3].revents & POLLIN) != 0) {
    const Alone alone(*this);
    pager_.fork().reap();
  }
}

}  // namespace nearfar::tier

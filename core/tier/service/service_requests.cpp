// Requests and discards of the program's threads.

#include "tier/service/service.h"

namespace nearfar::tier {

/// Whether a system call has made this process, past libc's fork: it has no pager, and none of the
/// managed memory. One that shares all memory, as vfork makes, has both.
bool Service::is_without_pager() const {
  if (os::call(__NR_getpid) == process_) return false;
  unsigned char there = 0;
  return os::call(__NR_mincore, os::word(pager_.base()), os::page_bytes, os::word(&there)) ==
         -ENOMEM;
}

/// Whether anything of the region may have become another mapping, as far as the caller can know.
bool Service::may_be_covered() const {
  return reads_messages_.load() || held_.has_unmaps() || pager_.remap().has_unmanaged();
}

bool Service::ask(const Request& request) {
  if (is_without_pager()) return false;
  if (request.kind == Request::Kind::uncover && !may_be_covered()) return true;
  // A child that a signal handler forks would wait for an answer that no thread of it gives.
  const os::SignalsBlocked blocked;
  const bool waits_for_pager = request.kind != Request::Kind::pause;  // that waits for discards
  if (waits_for_pager) affinity_.begin_request();
  const bool granted = requests_.ask(request, pager_wake_up());
  if (waits_for_pager) affinity_.end_request();
  let_pager_go_on();
  return granted;
}

/// A pager thread with the policy for idle processors that wakes this thread while it holds the
/// lock does not run again before this thread waits: so wait until the lock is free.
void Service::let_pager_go_on() {
  if (affinity_.workers() > 1) lock_.wait_until_free();
}

long Service::discard(os::Place begin, os::Place end) {
  if (!pager_.uffd().moves())
    return ask({.kind = Request::Kind::discard, .begin = begin, .end = end}) ? 0 : -EINVAL;
  const os::SignalsBlocked blocked;  // a child that a handler forks would wait for the end of this
  discards_.wait_for_faults();
  while (true) {
    discards_.wait_for_fork();
    const auto process = static_cast<int>(os::call(__NR_getpid));
    RequestQueue::Slot& slot = requests_.begin_discard(begin, end, process, pager_wake_up());
    const bool may_be = discards_.is_open();  // then no fork begins before this is over
    const long error = may_be ? os::advise(begin, end - begin, MADV_DONTNEED) : 0;
    requests_.end_discard(slot);
    if (discards_.is_awaited()) pager_wake_up().signal();
    if (!may_be) continue;
    let_pager_go_on();
    return error;
  }
}

/// What a discard has dropped is charged no more when it is over.
void Service::uncharge_finished_discards() {
  if (const std::uint64_t pages = requests_.take_finished_discards(process_); pages != 0)
    pager_.remap().uncharge(pages);
}

/// A child is charged what its parent is, and knows of pages what that knows. So nothing may be
/// charged that is not there any more: discards end before, or begin later.
Service::Answer Service::pause() {
  discards_.close();
  uncharge_finished_discards();
  if (requests_.has_discards()) return Answer::later;
  discards_.stop_waiting();
  // A child sees only what is in its place.
  if (!pager_.flat().bring_all_back() && pager_.uffd().changing()) return Answer::later;
  if (pager_.fork().pause()) return Answer::yes;
  discards_.open();
  return Answer::no;
}

void Service::resume() {
  pager_.fork().resume();
  apply_held();
  discards_.open();
  // One thread has served faults of all workers, but perhaps not all.
  for (const Worker& worker : workers_.all)
    if (worker.rests) worker.wake_up.signal();
}

/// Whether a thread has the same table of descriptors as the pager. A child of a thread that has
/// left it would lack what is opened for the child here.
bool Service::has_our_descriptors(int thread) {
  constexpr int tables = 2;  // KCMP_FILES
  const long compared = os::call(__NR_kcmp, os::call(__NR_gettid), thread, tables, 0, 0);
  return compared <= 0;  // below: this kernel does not tell
}

namespace {

RequestQueue::Answer answer_of(bool done) {
  return done ? RequestQueue::Answer::yes : RequestQueue::Answer::no;
}

}  // namespace

Service::Answer Service::serve(Request& request) {
  switch (request.kind) {
    case Request::Kind::move:
    case Request::Kind::cover:
    case Request::Kind::release:
    case Request::Kind::uncover:
    case Request::Kind::discard:
      return serve_mapping(request);
    case Request::Kind::agree_to_fork:
    case Request::Kind::pause:
    case Request::Kind::resume:
      return serve_fork(request);
    case Request::Kind::keep_near:
      return answer_of(pager_.advice().keep_near(request.begin, request.end));
    case Request::Kind::sample:
      pager_.sample();
      return Answer::yes;
    case Request::Kind::be_sandboxed:
      affinity_.stop();
      return Answer::yes;
    default:
      serve_advice(request);
      return Answer::yes;
  }
}

Service::Answer Service::serve_mapping(Request& request) {
  Ranges& ranges = pager_.ranges();
  if (request.kind == Request::Kind::move) {
    const auto moved = static_cast<Answer>(
        ranges.move(request.begin, request.end, request.length, request.passed));
    discards_.report_fault(moved != Answer::later);
    return moved;
  }
  if (request.kind == Request::Kind::discard)
    return answer_of(pager_.remap().drop(request.begin, request.end));
  ++changes_;
  if (request.kind == Request::Kind::release)
    return static_cast<Answer>(ranges.release(request.begin, request.end));
  if (request.kind == Request::Kind::cover)
    return answer_of(ranges.cover(request.begin, request.end));
  ranges.uncover(request.begin, request.end);
  return Answer::yes;
}

Service::Answer Service::serve_fork(const Request& request) {
  if (request.kind == Request::Kind::resume) {
    resume();
    return Answer::yes;
  }
  if (!has_our_descriptors(request.thread)) return Answer::no;
  return request.kind == Request::Kind::pause ? pause() : answer_of(pager_.fork().prepare());
}

void Service::serve_advice(const Request& request) {
  auto& advice = pager_.advice();
  if (request.kind == Request::Kind::will_need) advice.will_need(request.begin, request.end);
  // Where far memory is addressed directly, the detector finds out by itself.
  const bool leaves = !pager_.flat().is_on();
  if (request.kind == Request::Kind::cold && leaves) advice.cold(request.begin, request.end);
  if (request.kind == Request::Kind::may_leave) advice.release_near(request.begin, request.end);
}

}  // namespace nearfar::tier

// What threads of the program want of the pager: requests by letters, and discards, which they do
// themselves.

#include <algorithm>

#include "tier/service/service.h"

namespace nearfar::tier {

Service::Letter& Service::take_letter() {
  for (std::size_t i = 0;; i = (i + 1) % common_letters) {
    std::uint32_t free = empty;
    if (letters_[i].phase.compare_exchange_strong(free, writing)) return letters_[i];
    if (i + 1 == common_letters) {
      ring();  // discards that are over have letters until they are looked at
      os::call(__NR_sched_yield);
    }
  }
}

Service::Letter& Service::letter_for(Request::Kind kind) {
  if (kind != Request::Kind::pause && kind != Request::Kind::resume) return take_letter();
  letters_.back().phase.store(writing);
  return letters_.back();
}

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
  return reads_messages_.load() || holds_unmaps_.load() || pager_.remap().has_unmanaged();
}

bool Service::ask(const Request& request) {
  if (is_without_pager()) return false;
  if (request.kind == Request::Kind::uncover && !may_be_covered()) return true;
  // A handler that forks would have a child that waits for a letter which nobody reads.
  const os::SignalsBlocked blocked;
  Letter& letter = letter_for(request.kind);
  letter.request = request;
  letter.phase.store(posted);
  asked_.store(1);
  const bool counts = request.kind != Request::Kind::pause;  // that waits for others, not for us
  if (counts) affinity_.asked();
  ring();
  while (letter.phase.load() == posted) os::wait(letter.phase, posted);
  if (counts) affinity_.answered();
  const bool done = letter.done;
  letter.phase.store(empty);
  let_pager_go_on();
  return done;
}

/// Where the pager's threads run behind the program's, one that wakes this thread while it has the
/// lock does not run again before this thread waits: so that waits for the lock.
void Service::let_pager_go_on() {
  if (affinity_.workers() == 1) return;
  one_thread_.lock();
  one_thread_.unlock();
}

long Service::discard(os::Place begin, os::Place end) {
  if (!pager_.uffd().moves())
    return ask({.kind = Request::Kind::discard, .begin = begin, .end = end}) ? 0 : -EINVAL;
  const os::SignalsBlocked blocked;  // a handler that forks would wait for the end of this
  wait_for_faults();
  while (true) {
    while (paused_.load() != 0) os::wait(paused_, 1);
    Letter& letter = take_letter();
    letter.request = {.begin = begin, .end = end};
    letter.process = static_cast<int>(os::call(__NR_getpid));
    letter.phase.store(discarding);
    const bool may_be = paused_.load() == 0;  // and no fork begins before this is over
    const long error = may_be ? os::advise(begin, end - begin, MADV_DONTNEED) : 0;
    letter.phase.store(over);
    if (pause_waits_.load()) ring();
    if (!may_be) continue;
    let_pager_go_on();
    return error;
  }
}

/// While the kernel has a discard to tell of no page can come, and threads that do nothing else
/// leave no moment when it has none: so each waits once until a fault has been served, but not for
/// long, as nobody may be waiting for that any more.
void Service::wait_for_faults() {
  constexpr std::uint64_t most_ns = 2'000'000;
  if (faults_first_.load() != 0) os::wait_for(faults_first_, 1, most_ns);
}

/// A page came, or could not because of a change: where that happens again and again, discards are
/// to wait. For any thread that serves faults.
void Service::tell_discards(bool served) {
  constexpr std::uint32_t most = 8;  // in a row
  if (!served) {
    if ((refusals_.fetch_add(1) + 1) % most == 0) faults_first_.store(1);
  } else if (refusals_.load(std::memory_order_relaxed) != 0) {
    refusals_.store(0);
    if (faults_first_.exchange(0) != 0) os::wake_all(faults_first_);
  }
}

/// Whether a discard is. Who makes it may have been killed: one that shares all memory (vfork),
/// whose end is not that of this process.
bool Service::is_over(const Letter& letter) const {
  const std::uint32_t phase = letter.phase.load();
  if (phase == over) return true;
  return phase == discarding && letter.process != process_ && os::has_ended(letter.process);
}

/// What a discard has dropped is charged no more when it is over.
void Service::finish_discards() {
  for (Letter& letter : letters_) {
    if (!is_over(letter)) continue;
    pager_.remap().uncharge(letter.charged);
    letter.charged = 0;
    letter.phase.store(empty);
  }
}

/// The discard by which a change is made; null if the program has made it past this library.
Service::Letter* Service::discard_of(const os::Message& change) {
  if (change.kind != os::Message::Kind::removed) return nullptr;
  for (Letter& letter : letters_) {
    const std::uint32_t phase = letter.phase.load();
    if ((phase == discarding || phase == over) && letter.request.begin <= change.begin &&
        change.end <= letter.request.end)
      return &letter;
  }
  return nullptr;
}

bool Service::discards_go_on() const {
  return std::any_of(letters_.begin(), letters_.end(), [](const Letter& letter) {
    return letter.charged != 0 || letter.phase.load() == discarding;
  });
}

bool Service::serve_requests() {
  bool any = false;
  for (Letter& letter : letters_) {
    if (letter.phase.load() != posted) continue;
    // While the state of pages must not change, only the fork itself goes on.
    if (pager_.fork().is_paused() && letter.request.kind != Request::Kind::resume) continue;
    const Answer answer = serve(letter.request);
    if (answer == Answer::later) {
      any = any || letter.request.kind != Request::Kind::pause;  // who that waits for rings
      continue;
    }
    letter.done = answer == Answer::yes;
    letter.phase.store(writing);  // done: whoever asked puts the letter back
    os::wake_all(letter.phase);
    any = true;
  }
  return any;
}

/// A child is charged what its parent is, and knows of pages what that knows: so nothing may be
/// charged that is not there any more, and who gives memory back has to wait before, or be done.
Service::Answer Service::pause() {
  paused_.store(1);
  pause_waits_.store(true);
  finish_discards();
  if (discards_go_on()) return Answer::later;
  pause_waits_.store(false);
  if (pager_.fork().pause()) return Answer::yes;
  let_discard();
  return Answer::no;
}

/// Whether a thread has the same table of descriptors as the pager. Of one that has left it, a
/// child would not have what is opened for it here.
bool Service::has_our_descriptors(int thread) {
  constexpr int tables = 2;  // KCMP_FILES
  const long compared = os::call(__NR_kcmp, os::call(__NR_gettid), thread, tables, 0, 0);
  return compared <= 0;  // below: this kernel does not tell
}

void Service::let_discard() {
  paused_.store(0);
  os::wake_all(paused_);
}

Service::Answer Service::serve(Request& request) {
  const auto said = [](bool done) { return done ? Answer::yes : Answer::no; };
  switch (request.kind) {
    case Request::Kind::move: {
      const Answer moved =
          pager_.ranges().move(request.begin, request.end, request.length, request.passed);
      tell_discards(moved != Answer::later);
      return moved;
    }
    case Request::Kind::cover:
      ++changes_;
      return said(pager_.ranges().cover(request.begin, request.end));
    case Request::Kind::uncover:
      ++changes_;
      pager_.ranges().uncover(request.begin, request.end);
      break;
    case Request::Kind::discard:
      return said(pager_.remap().drop(request.begin, request.end));
    case Request::Kind::agree_to_fork:
      return said(has_our_descriptors(request.thread) && pager_.fork().prepare());
    case Request::Kind::pause:
      return has_our_descriptors(request.thread) ? pause() : Answer::no;
    case Request::Kind::resume:
      pager_.fork().resume();
      follow_held();
      let_discard();
      for (Worker& worker : workers_)
        if (worker.rests) ring(worker);  // one thread has served all, but perhaps not those
      break;
    case Request::Kind::sample:
      pager_.sample();
      break;
    case Request::Kind::will_need:
      pager_.advice().will_need(request.begin, request.end);
      break;
    case Request::Kind::cold:
      pager_.advice().cold(request.begin, request.end);
      break;
    case Request::Kind::keep_near:
      return said(pager_.advice().keep_near(request.begin, request.end));
    case Request::Kind::may_leave:
      pager_.advice().release_near(request.begin, request.end);
      break;
    case Request::Kind::be_sandboxed:
      affinity_.stop();
      break;
  }
  return Answer::yes;
}

}  // namespace nearfar::tier

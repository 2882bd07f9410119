#include "tier/service/pager_affinity.h"

#include <poll.h>

#include <algorithm>

#include "tier/os/clock.h"
#include "tier/os/system.h"
#include "tier/pager/sizes.h"

namespace nearfar::tier {

using News = FaultingThreads::News;

void PagerAffinity::start(int faults, PagerCpu wanted) {
  placement_ = AffinityTrials(wanted);
  wanted_ = PagerCpu::any;
  since_look_ = 0;
  so_far_ = 0;
  alone_ = 0;
  is_another_ = false;
  last_thread_ = 0;
  times_ = 0;
  others_ = 0;
  last_learnt_ = 0;
  trusted_until_ = 0;
  news_ = News::none;
  faulting_.start();
  rung_.store(0);
  where_.store(PagerCpu::any);
  thread_.store(0);
  stop_.store(false);
  for (Worker& worker : workers_) {
    worker.thread.store(0);
    worker.serves.store(0);
    worker.served.store(0);
  }
  there_.store(1);
  unanswered_.store(0);
  in_use_.store(1);
  heard_.store(0);
  state_.store(absent);
  kept_on_.store(0);
  starved_.store(false);
  rests_.store(false);
  watched_ = 0;
  stat_ = -1;  // the parent's affinity thread's, in a table that was not copied
  faults_ = faults;
}

std::size_t PagerAffinity::faulted(int thread, std::size_t reader) {
  std::size_t worker = reader;
  const bool another = thread != last_thread_;
  last_thread_ = thread;
  if (state_.load(std::memory_order_relaxed) == able) {
    ++times_;
    if (another) {
      ++others_;
      is_another_ = true;
    }
    news_ = std::max(news_, faulting_.faulted(thread));
    const std::size_t kept = faulting_.last_kept();
    if (kept < workers()) worker = kept;
  }
  workers_[worker].serves.store(thread, std::memory_order_relaxed);
  return worker;
}

bool PagerAffinity::learnt(std::uint64_t now, std::size_t faults, std::size_t ahead) {
  last_learnt_ = now;
  if (state_.load(std::memory_order_acquire) != able) {
    const std::uint64_t before = so_far_;
    so_far_ += faults + ahead / longest_run;
    if (before < faults_before && so_far_ >= faults_before) ring();
    return false;
  }
  if (starved_.load(std::memory_order_relaxed)) {
    starved_.store(false);
    placement_.starved(now);
  }
  if (!is_heard()) {
    placement_.moves();
    return kept_on_.load() != 0;
  }
  alone_ = is_another_ ? 0 : alone_ + 1;
  is_another_ = false;
  if (times_ >= looked_at) {
    placement_.several(others_ >= several_if, now);
    times_ = 0;
    others_ = 0;
  }
  const bool tries = placement_.tries();
  const bool knows_run = tries ? alone_ >= alone_for : placement_.is_new() && alone_ > 0;
  const std::uint64_t ran = knows_run ? os::run_ns(last_thread_) : 0;
  const PagerCpu where = placement_.learnt(now, ran, faults, ahead);
  const bool looks = where != PagerCpu::any && ++since_look_ >= faults_between_looks;
  const bool rested = rests_.load(std::memory_order_relaxed);
  const bool keeps = where == PagerCpu::same_idle || where == PagerCpu::per_cpu;
  const bool more = news_ != News::none && keeps;
  if (where != wanted_ || looks || rested || more) {
    since_look_ = 0;
    if (more && news_ == News::joined) placement_.joined(now);
    news_ = News::none;
    wanted_ = where;
    rests_.store(false);
    where_.store(where);
    thread_.store(last_thread_);
    ring();
  }
  return kept_on_.load(std::memory_order_relaxed) != 0;
}

void PagerAffinity::nothing_to_do() {
  if (kept_on_.load(std::memory_order_relaxed) == 0 || workers() > 1 || !is_heard()) return;
  if (faulting_.kept().load() != 0 || last_learnt_ < trusted_until_) return;
  trusted_until_ = last_learnt_ + trusted_ns;
  ring();
}

void PagerAffinity::stop() {
  stop_.store(true);
  ring();
  while (state_.load() != stopped) os::wait(state_, state_.load());
}

void PagerAffinity::let_go() { wait_for_nobody_kept(false); }

void PagerAffinity::let_go_until_then() {
  faulting_.hold_until_release();
  wait_for_nobody_kept(true);
}

/// A child that was made past libc has no affinity thread. One that shares this process's memory
/// until it becomes another program (vfork) has; from here the two look the same, so that it waits
/// only for so long. The affinity thread may be late, so each time anew nobody is to be kept.
void PagerAffinity::wait_for_nobody_kept(bool until_release) {
  constexpr std::uint64_t soon_ns = 1'000'000;
  constexpr int most_waits_in_child = 20;
  for (int waits = 0;; ++waits) {
    if (!until_release) faulting_.hold();
    const std::uint32_t kept = faulting_.kept().load();
    if (kept == 0 || state_.load() == stopped) return;
    if (waits >= most_waits_in_child && !faulting_.is_own_process()) return;
    ring();
    os::wait_for(faulting_.kept(), kept, soon_ns);
  }
}

void PagerAffinity::wait_for_affinity_thread() {
  while (state_.load() == absent) os::wait(state_, absent);
}

void PagerAffinity::ring() {
  rung_.fetch_add(1);
  os::wake_all(rung_);
}

void PagerAffinity::place_for_ever() {
  status_ = os::open_status();
  filters_ = os::filters_of(status_);
  state_.store(unknown);
  os::wake_all(state_);
  for (;;) {
    const std::uint32_t rung = rung_.load();
    if (rung != heard_.load()) {
      obey();
      heard_.store(rung);
    } else if (kept_on_.load() == 0) {
      os::wait(rung_, rung);
    } else {
      const std::uint64_t now = os::monotonic_ns();
      if (now < next_look_) os::wait_for(rung_, rung, next_look_ - now);
    }
    if (kept_on_.load() != 0 && os::monotonic_ns() >= next_look_) look_after();
  }
}

void PagerAffinity::obey() {
  if (state_.load() == stopped) return;
  // Once: to be told while it places is to be rung again. The first thread's filters tell nothing
  // when it has ended.
  const bool stops = stop_.load() || os::has_first_thread_ended(status_);
  if (faulting_.is_held() && may_call()) faulting_.let_all_go();
  if (state_.load() == unknown && !stops) state_.store(find_out(), std::memory_order_release);
  if (state_.load() == able && may_call() && !stops && where_.load() != PagerCpu::any) {
    place();
  } else if (may_call()) {
    give_place_back();
  }
  if (!stops) return;
  state_.store(stopped);
  os::wake_all(state_);
}

/// Whether the pager's thread can be put anywhere, and what it takes for it to come back.
PagerAffinity::State PagerAffinity::find_out() {
  const int pager = workers_[0].thread.load();
  if (!may_call() || !os::runs_as_others(pager)) return unable;
  processors_ = os::cpus_of(pager).count();
  if (processors_ < 2) return unable;
  own_ = os::cpus_of(0);
  if (!os::run_as_others(0)) return unable;  // a filter refuses even what changes nothing
  may_idle_ = os::may_prefer_again();
  os::prefer(pager, preferred_by);
  return able;
}

bool PagerAffinity::may_call() {
  if (state_.load() == stopped) return false;
  if (filters_ >= 0 && os::filters_of(status_) == filters_) return true;
  state_.store(stopped);
  os::wake_all(state_);
  return false;
}

/// The pager's thread to the processor that the thread which faults is on now.
void PagerAffinity::place() {
  const PagerCpu where = where_.load();
  if (where == PagerCpu::per_cpu) {
    place_per_cpu();
    return;
  }
  if (is_ == PagerCpu::per_cpu && !give_place_back()) return;
  const int cpu = where == PagerCpu::same_idle ? cpu_for_all() : cpu_of(thread_.load());
  if (cpu < 0) {
    give_place_back();
    return;
  }
  const std::uint32_t there = static_cast<std::uint32_t>(cpu) + 1;
  const bool begins = kept_on_.load() == 0;
  if (there != kept_on_.load() || where != is_) {
    const int pager = workers_[0].thread.load();
    if (begins) allowed_ = os::cpus_of(pager);
    if (where != PagerCpu::same_idle) faulting_.let_all_go();
    // Behind before it comes: who it woke there before that would be sent away.
    if (where == PagerCpu::same_idle && may_idle_) os::run_when_idle(pager);
    const bool kept = os::run_on(pager, os::Cpus::only(cpu));
    const bool was_behind = !begins && is_ == PagerCpu::same_idle;
    if (kept ? where != PagerCpu::same_idle : !was_behind)
      static_cast<void>(os::run_as_others(pager));
    if (!kept) return;
    // Nor is the affinity thread there. A thread that sleeps may be kept in the queue of its
    // processor for a while (from Linux 6.12 on), which then does not count as idle.
    static_cast<void>(os::run_on(0, own_.without(cpu)));
    is_ = where;
    kept_on_.store(there);
    look_later(where == PagerCpu::same_idle ? first_look_ns : tick_ns);
  }
  if (where == PagerCpu::same_idle) faulting_.keep_on({&cpu, 1});
  if (begins) quiet_ = 0;
}

/// A thread of the pager's behind those that fault on each of the first processors that it may run
/// on, and those that fault each on one of these.
void PagerAffinity::place_per_cpu() {
  if (kept_on_.load() == 0 || is_ != PagerCpu::per_cpu) {
    if (!give_place_back() || there_.load() < 2) return;
    faulting_.forget_all();
    allowed_ = os::cpus_of(workers_[0].thread.load());
    std::size_t count = 0;
    for (int cpu = 0; count < there_.load(); ++cpu) {
      if (cpu == os::Cpus::most) break;
      if (allowed_.has(cpu)) cpus_[count++] = cpu;
    }
    if (count < 2) return;
    is_ = PagerCpu::per_cpu;
    kept_on_.store(static_cast<std::uint32_t>(cpus_[0]) + 1);
    in_use_.store(static_cast<std::uint32_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const int thread = workers_[i].thread.load();
      if (may_idle_) os::run_when_idle(thread);
      if (os::run_on(thread, os::Cpus::only(cpus_[i]))) continue;
      static_cast<void>(give_place_back());
      return;
    }
    look_later(first_look_ns);
    quiet_ = 0;
  }
  faulting_.keep_on({cpus_.data(), in_use_.load()});
}

/// What is served until then says nothing.
void PagerAffinity::look_later(std::uint64_t ns) {
  for (Worker& worker : workers_) worker.seen = worker.served.load();
  looked_ = os::monotonic_ns();
  next_look_ = looked_ + ns;
}

/// Where the pager's thread is behind those that are kept there; else where the last is that
/// faults.
int PagerAffinity::cpu_for_all() {
  const std::uint32_t kept_on = kept_on_.load();
  if (kept_on != 0 && is_ == PagerCpu::same_idle && faulting_.kept().load() != 0)
    return static_cast<int>(kept_on) - 1;
  if (kept_on == 0) faulting_.forget_all();
  return cpu_of(thread_.load());
}

int PagerAffinity::cpu_of(int thread) {
  const int stat = stat_of(thread);
  return stat < 0 ? -1 : os::cpu_of(stat);
}

/// Opens what the kernel tells of a thread; below 0 if it has ended.
int PagerAffinity::stat_of(int thread) {
  if (thread != watched_) {
    if (stat_ >= 0) os::call(__NR_close, stat_);
    stat_ = os::open_stat(thread);
    watched_ = thread;
  }
  return stat_;
}

/// To where the thread was before, unless somebody has moved it meanwhile; whether that succeeds.
bool PagerAffinity::give_place_back() {
  const std::uint32_t kept_on = kept_on_.load();
  if (kept_on == 0) return true;
  faulting_.forget_all();
  static_cast<void>(os::run_on(0, own_));
  cpus_[0] = static_cast<int>(kept_on) - 1;
  const std::size_t count = in_use_.exchange(1);
  bool back = true;
  for (std::size_t i = 0; i < count; ++i) {
    const int thread = workers_[i].thread.load();
    back = os::run_as_others(thread) && back;
    if (os::cpus_of(thread) == os::Cpus::only(cpus_[i]))
      back = (os::run_on(thread, allowed_) || os::run_on(thread, os::Cpus::all())) && back;
  }
  if (back) kept_on_.store(0);
  return back;
}

/// Whether the pager's threads get to run where they are, and who is kept there still faults. One
/// that is alone there is in nobody's way.
void PagerAffinity::look_after() {
  const std::uint64_t now = os::monotonic_ns();
  const std::uint64_t passed = now - looked_;
  const std::size_t workers = in_use_.load();
  const auto lately = [](const Worker& worker) { return worker.served.load() - worker.seen; };
  std::uint64_t served = 0;
  for (std::size_t i = 0; i < workers; ++i) served += lately(workers_[i]);
  bool starves = false;
  for (std::size_t i = 0; i < workers && !starves; ++i) {
    const bool slow = lately(workers_[i]) * slowest_ns < passed;
    starves = slow && may_call() && does_starve(i, served == 0);
  }
  quiet_ = served == 0 ? quiet_ + 1 : 0;
  look_later(tick_ns);
  if (starves && may_call()) {
    if (give_place_back()) starved_.store(true);
  } else if (quiet_ >= longest_quiet && may_call()) {
    if (give_place_back()) rests_.store(true);
  } else if (faulting_.kept().load() > 1 && may_call()) {
    faulting_.let_idle_go(static_cast<std::uint32_t>(passed / slowest_ns));
  }
}

/// Whether somebody waits, and goes on to, while the pager's thread hardly runs: what it does for
/// one fault may take long. Those whose faults it has read are served in that order, and who has
/// been woken may be in its way before it could say so. What is unread may be any worker's, whoever
/// reads it: that one waits for it only if none has served any.
bool PagerAffinity::does_starve(std::size_t worker, bool none_serves) {
  const Worker& pager = workers_[worker];
  const auto waits = [&] {
    pollfd unread{.fd = faults_, .events = POLLIN, .revents = 0};
    const int last = pager.serves.load();
    if (last != 0 && may_call() && os::is_asleep(stat_of(last))) return true;
    if (worker == 0 && unanswered_.load() != 0) return true;
    return none_serves && os::call(__NR_poll, os::word(&unread), 1, 0) == 1;
  };
  const std::uint64_t served = pager.served.load();
  if (!waits()) return false;
  constexpr std::uint64_t soon_ns = 1'000'000;
  const int thread = pager.thread.load();
  const std::uint64_t ran = os::run_ns(thread);
  const std::uint64_t until = os::monotonic_ns() + soon_ns;
  for (std::uint64_t now = 0; (now = os::monotonic_ns()) < until;)
    os::wait_for(rung_, rung_.load(), until - now);  // others may ring
  return pager.served.load() == served && waits() && os::run_ns(thread) - ran < soon_ns / 2;
}

}  // namespace nearfar::tier

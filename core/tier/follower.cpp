#include "tier/follower.h"

#include <poll.h>

#include <mutex>

#include "tier/os/system.h"
#include "tier/os/thread.h"

namespace nearfar::tier {

void Follower::start(int status, int faults) {
  forget_thread();
  placement_ = {};
  placing_.free_in_child();
  beside_.store(0);
  starved_.store(false);
  stopped_.store(false);
  guarded_.store(false);
  prepared_ = false;
  served_.store(0);
  since_look_ = 0;
  own_ = 0;
  status_ = status;
  faults_ = faults;
}

bool Follower::learnt(std::uint64_t now, std::size_t faults, int thread) {
  if (stopped_.load(std::memory_order_relaxed)) return false;
  const std::uint64_t before = served_.fetch_add(faults, std::memory_order_relaxed);
  if (!prepared_ && before >= faults_before) prepare();
  if (!guarded_.load(std::memory_order_acquire)) return false;
  if (starved_.load(std::memory_order_relaxed)) {
    starved_.store(false);
    placement_.starved(now);
  }
  const Where where = placement_.learnt(now, faults);
  if (where == Where::anywhere) {
    leave();
  } else if (beside_.load() == 0 || where != where_ || ++since_look_ == faults_between_looks) {
    since_look_ = 0;
    follow(thread, where);
  }
  return beside_.load(std::memory_order_relaxed) != 0;
}

void Follower::heard_request(std::uint64_t made, std::uint64_t now) {
  if (beside_.load(std::memory_order_relaxed) == 0 || now < made + slowest_ns) return;
  placement_.starved(now);
  leave();
}

void Follower::stop() {
  leave();
  forget_thread();
  stopped_.store(true);
}

/// Finds out whether this thread can follow another at all. What it may not come back from is
/// tried by the one that looks after it.
void Follower::prepare() {
  prepared_ = true;
  if (!may_call()) return;
  own_ = static_cast<int>(os::call(__NR_gettid));
  if (os::cpus_of(own_).count() < 2 || !os::runs_as_others(own_)) return;
  const auto run = [](void* self) { static_cast<Follower*>(self)->guard(); };
  static_cast<void>(os::start_thread(run, this));
}

/// To the processor that the thread is on now.
void Follower::follow(int thread, Where where) {
  if (thread != watched_ && !watch(thread)) return;
  const int cpu = os::cpu_of(stat_);
  const bool is_there = beside_.load() == static_cast<std::uint32_t>(cpu) + 1 && where == where_;
  if (cpu < 0) {
    forget_thread();
  } else if (!is_there && may_call()) {
    move_to(cpu, where);
  }
}

bool Follower::may_call() {
  if (os::is_sandboxed(status_)) stopped_.store(true);
  return !stopped_.load();
}

bool Follower::watch(int thread) {
  forget_thread();
  if (!may_call()) return false;
  const int stat = os::open_stat(thread);
  if (stat < 0) return false;
  stat_ = stat;
  watched_ = thread;
  return true;
}

void Follower::forget_thread() {
  if (stat_ >= 0) os::call(__NR_close, stat_);
  stat_ = -1;
  watched_ = 0;
}

void Follower::move_to(int cpu, Where where) {
  {
    const std::lock_guard guard(placing_);
    const bool begins = beside_.load() == 0;
    if (begins) allowed_ = os::cpus_of(own_);  // somebody may have changed it
    if (!os::run_on(own_, os::Cpus::only(cpu))) return;
    static_cast<void>(os::run_as_others(own_));
    where_ = where;
    beside_.store(static_cast<std::uint32_t>(cpu) + 1);
    if (begins) os::wake_all(beside_);
  }
  // Without the lock, which is needed if it does not run for a while from now on.
  if (where == Where::behind) os::run_when_idle(own_);
}

void Follower::leave() {
  if (beside_.load(std::memory_order_relaxed) == 0 || !may_call()) return;
  const std::lock_guard guard(placing_);
  give_place_back();
}

/// To where the thread would be if it had never followed anybody.
void Follower::give_place_back() {
  if (beside_.load() == 0) return;
  static_cast<void>(os::run_as_others(own_));
  static_cast<void>(os::run_on(own_, allowed_));
  beside_.store(0);
}

void Follower::guard() {
  const int self = static_cast<int>(os::call(__NR_gettid));
  os::run_when_idle(self);
  guarded_.store(os::run_as_others(self), std::memory_order_release);
  for (;;) {
    while (beside_.load() == 0) os::wait(beside_, 0);
    look_after();
  }
}

/// Whoever has little to serve does not starve, but runs beside nobody until there is more.
void Follower::look_after() {
  const std::uint64_t before = served_.load();
  os::wait_for(beside_, beside_.load(), tick_ns);
  const std::uint64_t served = served_.load() - before;
  if (served * slowest_ns >= tick_ns) return;
  pollfd waiting{.fd = faults_, .events = POLLIN, .revents = 0};
  const bool starves = os::call(__NR_poll, os::word(&waiting), 1, 0) == 1;
  if (!may_call() || !placing_.try_lock()) return;
  if (starves) starved_.store(true);
  give_place_back();
  placing_.unlock();
  // It may have been on its way behind everybody.
  os::wait_for(beside_, 0, tick_ns);
  if (beside_.load() == 0 && may_call()) static_cast<void>(os::run_as_others(own_));
}

}  // namespace nearfar::tier

#include "tier/service/affinity_thread.h"

#include <poll.h>

#include "tier/os/clock.h"
#include "tier/os/status.h"
#include "tier/os/system.h"

namespace nearfar::tier {

int ThreadStat::of(int thread) {
  if (thread == thread_) return file_;
  if (file_ >= 0) os::call(__NR_close, file_);
  file_ = os::open_stat(thread);
  thread_ = thread;
  return file_;
}

void AffinityThread::start(int faults) {
  stat_.forget();
  faults_ = faults;
}

void AffinityThread::run() {
  open();
  for (;;) step();
}

void AffinityThread::open() {
  status_ = os::open_status();
  filters_ = os::filters_of(status_);
  link_.set_state(AffinityLink::unknown);
}

void AffinityThread::step() {
  const std::uint32_t signals = link_.signals.load();
  if (signals != link_.signals_seen.load()) {
    obey();
    link_.signals_seen.store(signals);
  } else if (!link_.keeps_pager()) {
    os::wait(link_.signals, signals);
  } else {
    const std::uint64_t now = os::monotonic_ns();
    if (now < looks_.next_ns) os::wait_for(link_.signals, signals, looks_.next_ns - now);
  }
  if (link_.keeps_pager() && os::monotonic_ns() >= looks_.next_ns) look_after();
}

void AffinityThread::obey() {
  if (link_.state.load() == AffinityLink::stopped) return;
  // Once: an order that comes meanwhile is another signal. The first thread's filters tell nothing
  // when it has ended.
  const bool stops = link_.stop.load() || os::has_first_thread_ended(status_);
  if (threads_.is_released() && may_call()) threads_.release_all();
  if (link_.state.load() == AffinityLink::unknown && !stops)
    link_.state.store(find_state(), std::memory_order_release);
  const bool able = link_.state.load() == AffinityLink::able;
  if (able && may_call() && !stops && link_.wanted.load() != PagerCpu::any) {
    move_pager();
  } else if (may_call()) {
    static_cast<void>(release_pager());
  }
  if (stops) link_.set_state(AffinityLink::stopped);
}

/// Whether the pager's thread can be moved, and what it takes for it to come back.
AffinityLink::State AffinityThread::find_state() {
  const int pager = link_.workers[0].thread.load();
  if (!may_call() || !os::runs_as_others(pager)) return AffinityLink::unable;
  link_.processors = os::cpus_of(pager).count();
  if (link_.processors < 2) return AffinityLink::unable;
  own_ = os::cpus_of(0);
  // A filter refuses even what changes nothing.
  if (!os::run_as_others(0)) return AffinityLink::unable;
  may_idle_ = os::may_prefer_again();
  os::prefer(pager, preferred_by);
  return AffinityLink::able;
}

bool AffinityThread::may_call() {
  if (link_.state.load() == AffinityLink::stopped) return false;
  if (filters_ >= 0 && os::filters_of(status_) == filters_) return true;
  link_.set_state(AffinityLink::stopped);
  return false;
}

/// Moves the pager's threads to where they are wanted, and keeps the program's threads there.
void AffinityThread::move_pager() {
  const PagerCpu wanted = link_.wanted.load();
  if (wanted == PagerCpu::per_cpu) {
    keep_per_cpu();
    return;
  }
  if (current_ == PagerCpu::per_cpu && !release_pager()) return;
  const int cpu = choose_cpu(wanted);
  if (cpu < 0) {
    static_cast<void>(release_pager());
    return;
  }
  const bool begins = !link_.keeps_pager();
  put_pager_on(cpu, wanted);
  const bool is_there = link_.kept_on.load() == static_cast<std::uint32_t>(cpu) + 1;
  if (!is_there || current_ != wanted) return;
  if (wanted == PagerCpu::same_idle) threads_.keep_on({&cpu, 1});
  if (begins) looks_.quiet = 0;
}

void AffinityThread::put_pager_on(int cpu, PagerCpu wanted) {
  const std::uint32_t there = static_cast<std::uint32_t>(cpu) + 1;
  if (there == link_.kept_on.load() && wanted == current_) return;
  const bool begins = !link_.keeps_pager();
  const bool idle = wanted == PagerCpu::same_idle;
  const int pager = link_.workers[0].thread.load();
  if (begins) allowed_ = os::cpus_of(pager);
  if (!idle) threads_.release_all();
  // The policy before the processor: a thread woken there before it would be sent away.
  if (idle && may_idle_) os::run_when_idle(pager);
  const bool kept = os::run_on(pager, os::Cpus::only(cpu));
  const bool was_idle = !begins && current_ == PagerCpu::same_idle;
  if (kept ? !idle : !was_idle) static_cast<void>(os::run_as_others(pager));
  if (!kept) return;
  // Nor does this thread run there. One that sleeps may be kept in the queue of its processor for a
  // while (from Linux 6.12 on), which then does not count as idle.
  static_cast<void>(os::run_on(0, own_.without(cpu)));
  current_ = wanted;
  link_.kept_on.store(there);
  look_later(idle ? first_look_ns : tick_ns);
}

/// A thread of the pager's on each of the first processors that it may run on, and each of the
/// program's threads that fault on one of these.
void AffinityThread::keep_per_cpu() {
  const bool begins = !link_.keeps_pager() || current_ != PagerCpu::per_cpu;
  if (begins && !begin_per_cpu()) return;
  threads_.keep_on({cpus_.data(), link_.workers_in_use.load()});
}

bool AffinityThread::begin_per_cpu() {
  const std::size_t workers = link_.worker_count.load();
  if (!release_pager() || workers < 2) return false;
  threads_.forget_all();
  allowed_ = os::cpus_of(link_.workers[0].thread.load());
  std::size_t count = 0;
  for (int cpu = 0; count < workers && cpu < os::Cpus::most; ++cpu)
    if (allowed_.has(cpu)) cpus_[count++] = cpu;
  if (count < 2) return false;
  current_ = PagerCpu::per_cpu;
  link_.kept_on.store(static_cast<std::uint32_t>(cpus_[0]) + 1);
  link_.workers_in_use.store(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const int thread = link_.workers[i].thread.load();
    if (may_idle_) os::run_when_idle(thread);
    if (os::run_on(thread, os::Cpus::only(cpus_[i]))) continue;
    static_cast<void>(release_pager());
    return false;
  }
  look_later(first_look_ns);
  looks_.quiet = 0;
  return true;
}

/// Where threads are kept already; else where the last one is that has faulted. Below 0: nowhere.
int AffinityThread::choose_cpu(PagerCpu wanted) {
  if (wanted == PagerCpu::same_idle) {
    const std::uint32_t kept_on = link_.kept_on.load();
    if (kept_on != 0 && current_ == PagerCpu::same_idle && threads_.kept().load() != 0)
      return static_cast<int>(kept_on) - 1;
    if (kept_on == 0) threads_.forget_all();
  }
  return cpu_of(link_.faulting_thread.load());
}

int AffinityThread::cpu_of(int thread) {
  const int stat = stat_.of(thread);
  return stat < 0 ? -1 : os::cpu_of(stat);
}

/// Lets the pager's threads run where they could before, unless they have been moved meanwhile;
/// whether that succeeds.
bool AffinityThread::release_pager() {
  const std::uint32_t kept_on = link_.kept_on.load();
  if (kept_on == 0) return true;
  threads_.forget_all();
  static_cast<void>(os::run_on(0, own_));
  cpus_[0] = static_cast<int>(kept_on) - 1;
  const std::size_t count = link_.workers_in_use.exchange(1);
  bool back = true;
  for (std::size_t i = 0; i < count; ++i) {
    const int thread = link_.workers[i].thread.load();
    back = os::run_as_others(thread) && back;
    if (os::cpus_of(thread) == os::Cpus::only(cpus_[i]))
      back = (os::run_on(thread, allowed_) || os::run_on(thread, os::Cpus::all())) && back;
  }
  if (back) link_.kept_on.store(0);
  return back;
}

/// The time until then says nothing of what is served.
void AffinityThread::look_later(std::uint64_t ns) {
  for (std::size_t i = 0; i < link_.workers.size(); ++i)
    looks_.served[i] = link_.workers[i].served.load();
  looks_.last_ns = os::monotonic_ns();
  looks_.next_ns = looks_.last_ns + ns;
}

std::uint64_t AffinityThread::served_lately(std::size_t worker) const {
  return link_.workers[worker].served.load() - looks_.served[worker];
}

/// A thread that is alone on its processor is in no other one's way.
void AffinityThread::look_after() {
  const std::uint64_t passed = os::monotonic_ns() - looks_.last_ns;
  const std::size_t workers = link_.workers_in_use.load();
  std::uint64_t served = 0;
  for (std::size_t i = 0; i < workers; ++i) served += served_lately(i);
  bool starves = false;
  for (std::size_t i = 0; i < workers && !starves; ++i) {
    const bool slow = served_lately(i) * slowest_ns < passed;
    starves = slow && may_call() && does_starve(i, served == 0);
  }
  looks_.quiet = served == 0 ? looks_.quiet + 1 : 0;
  look_later(tick_ns);
  if (starves && may_call()) {
    if (release_pager()) link_.starved.store(true);
  } else if (looks_.quiet >= longest_quiet && may_call()) {
    if (release_pager()) link_.rests.store(true);
  } else if (threads_.kept().load() > 1 && may_call()) {
    threads_.release_idle(static_cast<std::uint32_t>(passed / slowest_ns));
  }
}

/// Whether a thread waits for this worker. Those whose faults it has read are served in that order,
/// and one that was woken may be in its way before it could say so. What is unread may be any
/// worker's, whichever reads it: this one is waited for only if none has served any.
bool AffinityThread::has_waiting(std::size_t worker, bool none_serves) {
  const int last = link_.workers[worker].serves.load();
  if (last != 0 && may_call() && os::is_asleep(stat_.of(last))) return true;
  if (worker == 0 && link_.unanswered.load() != 0) return true;
  pollfd unread{.fd = faults_, .events = POLLIN, .revents = 0};
  return none_serves && os::call(__NR_poll, os::word(&unread), 1, 0) == 1;
}

/// Whether a thread waits, and goes on to, while the worker hardly runs: what that does for one
/// fault may take long.
bool AffinityThread::does_starve(std::size_t worker, bool none_serves) {
  constexpr std::uint64_t soon_ns = 1'000'000;
  const AffinityLink::Worker& pager = link_.workers[worker];
  const std::uint64_t served = pager.served.load();
  if (!has_waiting(worker, none_serves)) return false;
  const int thread = pager.thread.load();
  const std::uint64_t ran = os::run_ns(thread);
  const std::uint64_t until = os::monotonic_ns() + soon_ns;
  for (std::uint64_t now = 0; (now = os::monotonic_ns()) < until;)
    os::wait_for(link_.signals, link_.signals.load(), until - now);  // others may signal
  return pager.served.load() == served && has_waiting(worker, none_serves) &&
         os::run_ns(thread) - ran < soon_ns / 2;
}

}  // namespace nearfar::tier

#include "tier/service/faulting_threads.h"

#include <algorithm>

#include "tier/os/clock.h"
#include "tier/os/system.h"

namespace nearfar::tier {

void FaultingThreads::start() {
  for (Known& known : known_) {
    known.thread.store(0);
    known.kept_at.store(0);
  }
  for (Kept& kept : threads_) kept.thread = 0;
  joined_ = {};
  kept_.store(0);
  released_until_.store(0);
  last_release_.store(0);
  releases_.store(0);
  process_.store(static_cast<int>(os::call(__NR_getpid)));
}

FaultingThreads::News FaultingThreads::add_fault(int thread) {
  constexpr auto relaxed = std::memory_order_relaxed;
  std::size_t at = last_;
  last_is_known_ = true;
  if (known_[at].thread.load(relaxed) != thread) {
    std::size_t free = most;
    for (at = 0; at < most; ++at) {
      const int other = known_[at].thread.load(relaxed);
      if (other == thread) break;
      if (other == 0 && free == most) free = at;
    }
    last_is_known_ = at != most || free != most;
    if (!last_is_known_) return News::none;
    if (at == most) {
      last_ = free;
      known_[free].faults.store(1, relaxed);
      known_[free].thread.store(thread, std::memory_order_release);
      return News::none;
    }
    last_ = at;
  }
  const std::uint32_t faults = known_[at].faults.load(relaxed) + 1;
  known_[at].faults.store(faults, relaxed);
  return faults == often ? news_of(thread) : News::none;
}

FaultingThreads::News FaultingThreads::news_of(int thread) {
  if (std::find(joined_.begin(), joined_.end(), thread) != joined_.end()) return News::again;
  joined_[next_joined_] = thread;
  next_joined_ = (next_joined_ + 1) % most;
  return News::joined;
}

void FaultingThreads::keep_on(std::span<const int> cpus) {
  if (is_released()) return;
  std::array<std::size_t, most> kept_there{};  // by position among the processors
  for (std::size_t i = 0; i < most; ++i) {
    const Kept& kept = threads_[i];
    if (kept.thread == 0) continue;
    const auto at = static_cast<std::size_t>(std::ranges::find(cpus, kept.cpu) - cpus.begin());
    if (at == cpus.size() || kept.thread != known_[i].thread.load()) {
      release(i);
    } else {
      ++kept_there[at];
    }
  }
  const std::span<std::size_t> counts(kept_there.data(), cpus.size());
  even_out(cpus, counts);
  for (std::size_t i = 0; i < most; ++i) {
    const int thread = known_[i].thread.load(std::memory_order_acquire);
    const bool often_enough = known_[i].faults.load(std::memory_order_relaxed) >= often;
    if (thread == 0 || !often_enough || threads_[i].thread != 0) continue;
    keep(i, thread, cpus, counts);
  }
}

/// Others may have ended. Releases some from where most are kept, for where fewest are.
void FaultingThreads::even_out(std::span<const int> cpus, std::span<std::size_t> counts) {
  const auto [fewest, fullest] = std::ranges::minmax_element(counts);
  const int cpu = cpus[static_cast<std::size_t>(fullest - counts.begin())];
  std::size_t too_many = (*fullest - *fewest) / 2;
  for (std::size_t i = 0; i < most && too_many != 0; ++i) {
    if (threads_[i].thread == 0 || threads_[i].cpu != cpu) continue;
    release(i);
    --*fullest;
    --too_many;
  }
}

/// Keeps it where fewest are, of those that it may run on. A thread that asks for a release checks
/// after that whether any thread is kept, and here it is the other way round: one of the two sees
/// the other.
void FaultingThreads::keep(std::size_t i, int thread, std::span<const int> cpus,
                           std::span<std::size_t> counts) {
  if (!is_ours(thread)) {
    known_[i].thread.store(0);
    return;
  }
  Kept& kept = threads_[i];
  kept_.fetch_add(1);
  kept.before = os::cpus_of(thread);
  std::size_t at = nowhere;
  for (std::size_t j = 0; j < cpus.size(); ++j)
    if (kept.before.has(cpus[j]) && (at == nowhere || counts[j] < counts[at])) at = j;
  const bool may = kept.before.count() > 1 && at != nowhere;
  if (may && !is_released() && os::run_on(thread, os::Cpus::only(cpus[at]))) {
    kept.thread = thread;
    kept.cpu = cpus[at];
    kept.faults = known_[i].faults.load(std::memory_order_relaxed);
    known_[i].kept_at.store(static_cast<std::uint32_t>(at) + 1);
    ++counts[at];
    return;
  }
  kept_.fetch_sub(1);
  os::wake_all(kept_);
}

/// Not a thread that has been put elsewhere meanwhile, or has ended.
void FaultingThreads::release(std::size_t i) {
  Kept& kept = threads_[i];
  if (kept.thread == 0) return;
  if (is_ours(kept.thread) && os::cpus_of(kept.thread) == os::Cpus::only(kept.cpu))
    static_cast<void>(os::run_on(kept.thread, kept.before));
  kept.thread = 0;
  known_[i].kept_at.store(0);
  kept_.fetch_sub(1);
  os::wake_all(kept_);
}

void FaultingThreads::release_idle(std::uint32_t least) {
  for (std::size_t i = 0; i < most; ++i) {
    if (known_[i].thread.load() == 0) continue;
    const std::uint32_t faults = known_[i].faults.load(std::memory_order_relaxed);
    if (faults - threads_[i].faults < least) {
      release(i);
      known_[i].thread.store(0);
    }
    threads_[i].faults = faults;
  }
}

void FaultingThreads::release_all() {
  for (std::size_t i = 0; i < most; ++i) release(i);
}

void FaultingThreads::forget_all() {
  release_all();
  for (Known& known : known_) known.thread.store(0);
}

void FaultingThreads::release_for_a_while() {
  released_until_.store(os::monotonic_ns() + release_ns);
}

void FaultingThreads::end_release() {
  const std::uint64_t now = os::monotonic_ns();
  const bool soon = now - last_release_.exchange(now) < release_ns;
  const std::uint64_t rest = soon ? std::min(2 * rest_ns_.load(), release_ns) : first_rest_ns;
  rest_ns_.store(rest);
  if (released_until_.load() < now + rest) released_until_.store(now + rest);
  releases_.fetch_sub(1);
}

bool FaultingThreads::is_released() const {
  return releases_.load() != 0 || os::monotonic_ns() < released_until_.load();
}

bool FaultingThreads::is_own_process() const { return os::call(__NR_getpid) == process_.load(); }

/// Numbers are used again when threads have ended; and a child that shares this process's memory
/// until it becomes another program (vfork) faults here, too.
bool FaultingThreads::is_ours(int thread) const {
  return os::call(__NR_tgkill, process_.load(), thread, 0) == 0;
}

}  // namespace nearfar::tier

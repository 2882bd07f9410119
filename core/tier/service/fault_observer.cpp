#include "tier/service/fault_observer.h"

#include <algorithm>

#include "tier/os/clock.h"
#include "tier/pager/sizes.h"

namespace nearfar::tier {

using News = FaultingThreads::News;

void FaultObserver::start(PagerCpu wanted) {
  trials_ = AffinityTrials(wanted);
  wanted_ = PagerCpu::any;
  since_look_ = 0;
  so_far_ = 0;
  alone_ = 0;
  is_another_ = false;
  last_thread_ = 0;
  times_ = 0;
  others_ = 0;
  last_report_ = 0;
  trusted_until_ = 0;
  news_ = News::none;
}

std::size_t FaultObserver::add_fault(int thread, std::size_t reader) {
  std::size_t worker = reader;
  const bool another = thread != last_thread_;
  last_thread_ = thread;
  if (link_.state.load(std::memory_order_relaxed) == AffinityLink::able) {
    ++times_;
    if (another) {
      ++others_;
      is_another_ = true;
    }
    news_ = std::max(news_, threads_.add_fault(thread));
    const std::size_t kept = threads_.last_kept();
    if (kept < link_.workers_in_use.load(std::memory_order_relaxed)) worker = kept;
  }
  link_.workers[worker].serves.store(thread, std::memory_order_relaxed);
  return worker;
}

bool FaultObserver::report_faults(std::uint64_t now, std::size_t faults, std::size_t ahead) {
  last_report_ = now;
  if (!count_until_able(faults, ahead)) return false;
  if (link_.starved.load(std::memory_order_relaxed)) {
    link_.starved.store(false);
    trials_.starved(now);
  }
  if (!link_.has_seen_signals()) {
    trials_.moves();
    return link_.keeps_pager();
  }
  alone_ = is_another_ ? 0 : alone_ + 1;
  is_another_ = false;
  count_threads(now);
  const std::uint64_t ran = run_ns();
  move_pager(trials_.learnt(now, ran, faults, ahead), now);
  return link_.keeps_pager();
}

/// Whether the affinity thread is able to move the pager's; it finds that out at the first faults.
bool FaultObserver::count_until_able(std::size_t faults, std::size_t ahead) {
  if (link_.state.load(std::memory_order_acquire) == AffinityLink::able) return true;
  const std::uint64_t before = so_far_;
  so_far_ += faults + ahead / longest_run;
  if (before < faults_before && so_far_ >= faults_before) link_.signal();
  return false;
}

void FaultObserver::count_threads(std::uint64_t now) {
  if (times_ < looked_at) return;
  trials_.several(others_ >= several_if, now);
  times_ = 0;
  others_ = 0;
}

/// How long the only thread that faults has run, where that matters; 0 otherwise.
std::uint64_t FaultObserver::run_ns() {
  const bool matters = trials_.tries() ? alone_ >= alone_for : trials_.is_new() && alone_ > 0;
  return matters ? os::run_ns(last_thread_) : 0;
}

void FaultObserver::move_pager(PagerCpu to, std::uint64_t now) {
  const bool looks = to != PagerCpu::any && ++since_look_ >= faults_between_looks;
  const bool rested = link_.rests.load(std::memory_order_relaxed);
  const bool keeps_threads = to == PagerCpu::same_idle || to == PagerCpu::per_cpu;
  const bool more = news_ != News::none && keeps_threads;
  if (to == wanted_ && !looks && !rested && !more) return;
  since_look_ = 0;
  if (more && news_ == News::joined) trials_.joined(now);
  news_ = News::none;
  wanted_ = to;
  link_.rests.store(false);
  link_.wanted.store(to);
  link_.faulting_thread.store(last_thread_);
  link_.signal();
}

void FaultObserver::report_idle() {
  const bool one_worker = link_.workers_in_use.load(std::memory_order_relaxed) == 1;
  if (!link_.keeps_pager() || !one_worker || !link_.has_seen_signals()) return;
  if (threads_.kept().load() != 0 || last_report_ < trusted_until_) return;
  trusted_until_ = last_report_ + trusted_ns;
  link_.signal();
}

}  // namespace nearfar::tier

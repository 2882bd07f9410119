#include "tier/swap/monitor.h"

#include <algorithm>
#include <utility>

namespace nearfar::tier::swap {
namespace {

using Clock = std::chrono::steady_clock;

/// At once, so that the limit is looked at again before long.
constexpr std::uint64_t most_victims = 1024;
/// When a process waits for memory although near memory is not full: page tables, the kernel's own.
constexpr std::uint64_t least_for_waiting = 16;
/// Steps to wait at most after attempts at which nothing left.
constexpr unsigned most_patience = 64;

policy::PageIndex capacity_of(std::uint64_t pages) {
  return static_cast<policy::PageIndex>(std::min<std::uint64_t>(pages, policy::most_pages));
}

}  // namespace

Monitor::Monitor(const Options& options)
    : options_(options),
      limit_(options.limit_pages),
      capacity_(options.limit_pages),
      gauge_(options.group, options.unified),
      policy_(options.policy, capacity_of(options.limit_pages)) {
  // Signals are for the thread that waits for the program.
  const tier::os::SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Monitor::~Monitor() = default;

void Monitor::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

Counts Monitor::counts() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

void Monitor::run(const std::stop_token& stop) {
  try {
    // Its share of CPU time is bounded; where it comes late, the program itself has to wait.
    os::hurry();
    while (!stop.stop_requested()) {
      const Pace::Duration pause = step();
      publish();
      std::unique_lock lock(mutex_);
      bell_.wait_for(lock, stop, pause, [] { return false; });
    }
    find_processes();
    note(gauge_.read(processes_));
    publish();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void Monitor::publish() {
  counts_.elapsed_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count());
  const std::lock_guard lock(mutex_);
  published_ = counts_;
}

Pace::Duration Monitor::step() {
  const std::uint64_t began = os::cpu_time_ns();
  const std::uint64_t limit = this->limit();
  if (limit != capacity_) policy_->resize(capacity_of(capacity_ = limit));
  find_processes();
  const Reading reading = gauge_.read(processes_);
  note(reading);
  const std::uint64_t held = reading.near + evicted_since_;
  pace_.came(held > before_.near ? held - before_.near : 0);
  before_ = reading;
  evicted_since_ = 0;
  const std::uint64_t read = os::cpu_time_ns();
  // Nothing has come or gone where the kernel has counted no fault and no page less.
  if (!gauge_.grouped() || reading.faults != looked_at_.faults || reading.near != looked_at_.near) {
    if (Clock::now() >= next_look_) {
      look();
      looked_at_ = reading;
      next_look_ = Clock::now() + pace_.between_looks(Pace::Duration(os::cpu_time_ns() - read));
    }
  }
  const std::uint64_t watched = os::cpu_time_ns();
  counts_.watching_ns += watched - began;
  const bool waiting = gauge_.process_waits();
  const std::uint64_t excess =
      std::max(pace_.excess(reading.near, limit), waiting ? least_for_waiting : 0);
  if (fruitless_ > 0) {
    --fruitless_;
  } else if (excess != 0) {
    evict(std::min(excess, most_victims), waiting);
    if (waiting) gauge_.wake(limit);
    counts_.evicting_ns += os::cpu_time_ns() - watched;
    if (excess > most_victims && fruitless_ == 0) return Pace::Duration::zero();
  }
  if (waiting) return Pace::shortest;
  return pace_.pause(Pace::Duration(read - began));
}

void Monitor::note(const Reading& reading) {
  std::uint64_t swapped = reading.swapped;
  if (!gauge_.grouped()) {
    for (const auto& one : watched_) swapped += one ? one->image.swapped() : 0;
  }
  counts_.near = reading.near;
  counts_.near_peak = std::max(counts_.near_peak, reading.near);
  counts_.swapped = swapped;
  counts_.swapped_peak = std::max(counts_.swapped_peak, swapped);
  counts_.faults = reading.page_ins;
  counts_.processes = processes_.size();
  counts_.processes_peak = std::max<std::uint64_t>(counts_.processes_peak, processes_.size());
}

void Monitor::find_processes() {
  os::reap_orphans(options_.program);
  processes_ = gauge_.processes(options_.launcher);
  for (std::unique_ptr<Watched>& one : watched_) {
    if (!one || std::ranges::binary_search(processes_, one->process.number())) continue;
    one->image.clear();
    one.reset();
  }
  for (const pid_t number : processes_) {
    const auto is_it = [&](const auto& one) { return one && one->process.number() == number; };
    if (std::ranges::any_of(watched_, is_it)) continue;
    // Between vfork and exec a child's memory is its parent's, which is watched already.
    const auto has_its_memory = [&](const auto& one) {
      return one && os::share_memory(one->process.number(), number);
    };
    if (std::ranges::any_of(watched_, has_its_memory)) continue;
    auto place = std::ranges::find_if(watched_, [](const auto& one) { return !one; });
    if (place == watched_.end()) place = watched_.emplace(watched_.end());
    const auto owner = static_cast<std::uint32_t>(place - watched_.begin());
    *place = std::make_unique<Watched>(os::Process(number), Image(owner, groups_, *this));
  }
}

void Monitor::look() {
  ++counts_.looks;
  for (const std::unique_ptr<Watched>& one : watched_) {
    if (!one) continue;
    one->image.begin();
    const bool seen =
        one->process.look(0, os::memory_end, [&](const os::Run& run) { one->image.add(run); });
    if (seen) {
      one->image.end(counts_.seen);
    } else {
      one->image.clear();  // a process that has ended may be listed for long
    }
  }
}

void Monitor::evict(std::uint64_t pages, bool waiting) {
  victims_.clear();
  while (victims_.size() < pages) {
    const PageIndex page = policy_->evict();
    if (page == policy::no_page) break;
    victims_.push_back({groups_.of(page).owner, groups_.place(page), page});
  }
  // Neighbours leave together, however the policy has ordered them.
  std::ranges::sort(victims_, {}, [](const Victim& one) { return std::pair(one.owner, one.at); });
  const std::uint64_t before = counts_.evictions;
  for (std::span<const Victim> rest = victims_; !rest.empty();) {
    const auto same = std::ranges::find_if_not(
        rest, [&](const Victim& one) { return one.owner == rest.front().owner; });
    const auto of_one = rest.first(static_cast<std::size_t>(same - rest.begin()));
    take_out(*watched_[of_one.front().owner], of_one);
    rest = rest.subspan(of_one.size());
  }
  counts_.evictions_asked += victims_.size();
  const std::uint64_t left = counts_.evictions - before;
  evicted_since_ += left;
  counts_.refused += victims_.size() - left;
  const bool in_vain = left == 0 && (waiting || !victims_.empty());
  patience_ = in_vain ? std::min(2 * patience_, most_patience) : 1;
  fruitless_ = left != 0 ? 0 : patience_;
  // Nothing can leave, so no process that waits for memory would get any.
  if (patience_ == most_patience) gauge_.give_up_waiting();
}

void Monitor::take_out(Watched& watched, std::span<const Victim> victims) {
  spans_.clear();
  for (const Victim& one : victims) {
    if (!spans_.empty() && spans_.back().begin + spans_.back().length == one.at) {
      spans_.back().length += os::page_bytes;
    } else {
      spans_.push_back({one.at, os::page_bytes});
    }
  }
  watched.process.page_out(spans_);
  for (std::span<const Victim> rest = victims; !rest.empty();) {
    const auto group = rest.front().page / Groups::pages;
    const auto other = std::ranges::find_if_not(
        rest, [&](const Victim& one) { return one.page / Groups::pages == group; });
    const auto of_one = rest.first(static_cast<std::size_t>(other - rest.begin()));
    check(watched, of_one);
    rest = rest.subspan(of_one.size());
  }
}

void Monitor::check(Watched& watched, std::span<const Victim> victims) {
  std::uint64_t stayed = 0;
  const os::Place base = groups_.of(victims.front().page).base;
  const bool seen = watched.process.look(
      victims.front().at, victims.back().at + os::page_bytes, [&](const os::Run& run) {
        for (os::Place at = run.begin; run.present && at < run.end; at += os::page_bytes) {
          stayed |= std::uint64_t{1} << (at - base) / os::page_bytes;
        }
      });
  for (const Victim& one : victims) {
    if (!seen || (stayed >> Groups::which(one.page) & 1U) != 0) {
      policy_->refused(one.page);
    } else {
      watched.image.left(one.page);
      ++counts_.evictions;
    }
  }
}

}  // namespace nearfar::tier::swap

#include "tier/attach/manager.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tier/attach/os/damon.h"
#include "tier/attach/watched_memory.h"

namespace nearfar::tier::attach {
namespace {

std::uint64_t between_scans(const Placer::Options& placing) {
  return placing.interval_ns / policy::scans_a_decision;
}

std::unique_ptr<ProcessMemory> watched(Target& target, const Manager::Options& options) {
  if (!options.watches_reads) return nullptr;
  return std::make_unique<WatchedMemory>(
      target,
      std::make_unique<Damon>(options.process, between_scans(options.placing), Damon::Folders{}));
}

}  // namespace

Manager::Manager(Options options)
    : options_(std::move(options)),
      target_(options_.process, options_.only),
      watched_(watched(target_, options_)),
      placer_(memory(), options_.placing, options_.limit),
      limit_(options_.limit) {
  // Signals are for the thread that waits for the process's end.
  const os::SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Manager::~Manager() = default;

void Manager::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Manager::set_limit(Limit limit) {
  const std::lock_guard lock(mutex_);
  limit_ = limit;
  changed_ = true;
  bell_.notify_all();
}

Limit Manager::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

void Manager::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  paused_ = paused;
  changed_ = true;
  bell_.notify_all();
}

bool Manager::is_paused() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

Counts Manager::counts() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

bool Manager::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

bool Manager::is_settled() const {
  const std::lock_guard lock(mutex_);
  return settled_;
}

void Manager::run(const std::stop_token& stop) {
  try {
    // What was written before is no use of now.
    if (placer_.needs_writes()) (void)target_.forget_writes();
    while (!stop.stop_requested() && step()) {
      trim(stop);
      {
        const std::lock_guard lock(mutex_);
        settled_ = true;
      }
      publish();
      wait(stop, pause_ns());
      wait_for_news(stop);
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  memory().leave();
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

/// A scan, and a decision after some. False if the process has ended.
bool Manager::step() {
  constexpr unsigned most_quiet = 3;
  Limit limit;
  {
    const std::lock_guard lock(mutex_);
    limit = limit_;
    changed_ = false;
    if (paused_) return true;
  }
  placer_.set_limit(limit);
  if (!placer_.scan()) return false;
  quiet_ = placer_.found_any() ? 0 : std::min(quiet_ + 1, most_quiet);
  if (++scans_ < policy::scans_a_decision) return true;
  scans_ = 0;
  placer_.decide();
  return true;
}

void Manager::trim(const std::stop_token& stop) {
  while (!stop.stop_requested() && !is_paused() && placer_.trim()) publish();
}

/// Scans become up to eight times as rare while all pages are found unused. What is left of the
/// time passes while DAMON's round ends.
std::uint64_t Manager::pause_ns() const {
  const std::uint64_t whole = between_scans(options_.placing);
  return (watched_ ? whole - whole / 4 : whole) << quiet_;
}

/// Until DAMON has ended a round, and has begun the next one; not for ever, as that may have been
/// turned off.
void Manager::wait_for_news(const std::stop_token& stop) {
  constexpr unsigned parts = 8;
  constexpr unsigned most = 4 * parts;
  const std::uint64_t part = between_scans(options_.placing) / parts;
  for (unsigned i = 0; i < most && !stop.stop_requested() && !memory().has_news(); ++i)
    wait(stop, part);
  if (watched_) wait(stop, part);
}

/// For so long. A limit that changes meanwhile holds at once.
void Manager::wait(const std::stop_token& stop, std::uint64_t ns) {
  const auto due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!bell_.wait_until(lock, stop, due, [this] { return changed_; }) && !paused_) return;
    if (paused_) {
      bell_.wait(lock, stop, [this] { return !paused_; });
      continue;
    }
    changed_ = false;
    const Limit limit = limit_;
    lock.unlock();
    placer_.set_limit(limit);
    trim(stop);
    publish();
    lock.lock();
  }
}

void Manager::publish() {
  const std::lock_guard lock(mutex_);
  published_ = placer_.counts();
}

}  // namespace nearfar::tier::attach

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/tick.h"

namespace nearfar::frontend::qemu {

/// Holds threads that run side by side while they are too far ahead of each other in simulated
/// time.
///
/// All calls but stay() are made with the lock held that stay() takes. A thread in a system call
/// is out. QEMU sometimes stops one thread until all others have returned to it (to change code,
/// to fork): so no thread is held longer than `patience` of real time when nothing moves.
class Gate {
 public:
  using Member = std::size_t;

  [[nodiscard]] Member join(Tick at) {
    clocks_.push_back({at, true});
    return clocks_.size() - 1;
  }
  void leave(Member member, Tick at) {
    clocks_[member] = {at, false};
    last_left_ = at;
    ++moves_;
    moved_->notify_all();
  }
  void come(Member member, Tick at) { clocks_[member] = {at, true}; }
  /// All members but one that is yet to join are gone.
  void restart() {
    clocks_.clear();
    waiting_ = 0;
    // The threads that waited are in another process: a condition that counts them would wait for
    // them.
    static_cast<void>(moved_.release());  // NOLINT(bugprone-unused-return-value)
    moved_ = std::make_unique<std::condition_variable>();
  }

  /// When a thread that was blocked went on: one that is inside woke it, no earlier than the
  /// slowest of them; or if none is, the one that left last.
  [[nodiscard]] Tick woken() const {
    const Tick at = slowest();
    return at.is_never() ? last_left_ : at;
  }

  /// The slowest clock of the threads inside; never() if there is none.
  [[nodiscard]] Tick slowest() const {
    Tick least = Tick::never();
    for (const Clock& clock : clocks_) {
      if (clock.in) least = min(least, clock.at);
    }
    return least;
  }

  /// `member` has reached `at`; waits while `ahead(slowest())` says so.
  template <typename Ahead>
  void stay(std::unique_lock<std::mutex>& lock, Member member, Tick at, const Ahead& ahead) {
    if (clocks_.size() == 1) return;
    clocks_[member].at = at;
    if (waiting_ > 0) {
      ++moves_;
      moved_->notify_all();
    }
    while (ahead(slowest())) {
      ++waiting_;
      const std::uint64_t seen = moves_;
      const bool moved = moved_->wait_for(lock, patience, [&] { return moves_ != seen; });
      --waiting_;
      if (!moved) return;
    }
  }

 private:
  static constexpr std::chrono::milliseconds patience{2};

  struct Clock {
    Tick at;
    bool in;
  };

  std::vector<Clock> clocks_;
  std::unique_ptr<std::condition_variable> moved_ = std::make_unique<std::condition_variable>();
  Tick last_left_{};
  std::uint64_t moves_ = 0;
  unsigned waiting_ = 0;
};

}  // namespace nearfar::frontend::qemu

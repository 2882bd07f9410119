#pragma once

#include <atomic>

#include "tier/lock.h"
#include "tier/os/cpu.h"
#include "tier/placement.h"

namespace nearfar::tier {

/// Keeps the thread that calls it beside whoever faults, or behind, where that is faster: on the
/// same processor, or there with the scheduling policy for idle processors (SCHED_IDLE), by which
/// the processor of a thread that is woken counts as idle though the pager's thread still runs
/// there.
///
/// A thread of that policy hardly runs where others want the processor all the time. Another
/// thread, which exists from the 128th fault on, looks every 20 ms, and where fewer faults than one
/// in a millisecond have been served, gives it its place among the others back; if one waits, it
/// has starved. So does a request that has waited for a millisecond: it is not beside who asks. As
/// that takes a right (CAP_SYS_NICE, or RLIMIT_NICE of 20), nobody is followed without it; nor
/// where there is one processor only, or the program has been given another policy.
///
/// A program may forbid all of its threads these calls, and be killed for them. So it is looked
/// before each whether it has forbidden itself any, and then none is made any more.
class Follower {
 public:
  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Before a new thread follows, also that of a forked child. `status` tells of this process,
  /// `faults` whether any wait; both are descriptors.
  void start(int status, int faults);

  /// Some faults were learnt of, at `now` in nanoseconds, the last by this thread. Whether those
  /// after them are served beside it.
  bool learnt(std::uint64_t now, std::size_t faults, int thread);

  /// No fault is known of. Who runs beside the thread that faults runs only while that waits, so if
  /// it does not wait for a fault, it may have gone to another processor.
  void nothing_to_do() {
    if (watched_ != 0 && beside_.load(std::memory_order_relaxed) != 0) follow(watched_, where_);
  }

  /// A request was seen, at `now`, that was made at `made`.
  void heard_request(std::uint64_t made, std::uint64_t now);

  /// From now on the thread stays where the scheduler puts it.
  void stop();

  /// Kept open; -1: none.
  [[nodiscard]] int descriptor() const { return stat_; }

 private:
  static constexpr std::uint64_t faults_before = 128;  ///< so a short program has no other thread
  static constexpr std::size_t faults_between_looks = 64;
  static constexpr std::uint64_t tick_ns = 20'000'000;
  static constexpr std::uint64_t slowest_ns = 1'000'000;  ///< a fault, of one who does not starve

  void prepare();
  void follow(int thread, Where where);
  [[nodiscard]] bool may_call();
  [[nodiscard]] bool watch(int thread);
  void forget_thread();
  void move_to(int cpu, Where where);
  void leave();
  void give_place_back();
  [[noreturn]] void guard();
  void look_after();

  Placement placement_;
  Lock placing_{};  // who changes where the thread runs
  os::Cpus allowed_;  // to the thread, while it does not follow
  int own_ = 0;  // the thread
  std::atomic<std::uint32_t> beside_{0};  // a processor, counted from 1; 0: it does not follow
  std::atomic<std::uint64_t> served_{0};  // faults
  std::atomic<bool> starved_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> guarded_{false};  // there is who gives the thread its place back
  bool prepared_ = false;
  Where where_ = Where::anywhere;
  std::size_t since_look_ = 0;
  int watched_ = 0;  // thread
  int stat_ = -1;  // of that
  int status_ = -1;
  int faults_ = -1;
};

}  // namespace nearfar::tier

#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/service/affinity_link.h"
#include "tier/service/affinity_trials.h"
#include "tier/service/faulting_threads.h"

namespace nearfar::tier {

/// Sees which threads fault, and has the affinity thread move the pager's when trials find that to
/// be faster. Called by the thread that holds the pager's lock.
class FaultObserver {
 public:
  FaultObserver(AffinityLink& link, FaultingThreads& threads) : link_(link), threads_(threads) {}

  void start(PagerCpu wanted);

  /// A thread waits for a page. Which worker is to serve it, if `reader` has read the message.
  [[nodiscard]] std::size_t add_fault(int thread, std::size_t reader);
  /// So many faults were read at `now` in nanoseconds; `ahead` is how many pages have come since
  /// the last time beside those that were touched. Whether the pager's thread is kept on a
  /// processor.
  bool report_faults(std::uint64_t now, std::size_t faults, std::size_t ahead);
  /// No fault is known of. A thread that is kept beside the one that faults runs while that waits;
  /// so if it does not wait for a fault, it may have gone to another processor.
  void report_idle();

  /// Whether threads that fault often run on the pager's processor, as soon as they can.
  [[nodiscard]] bool is_same_idle() const {
    return link_.keeps_pager() && wanted_ == PagerCpu::same_idle;
  }
  [[nodiscard]] bool wants_workers() const { return trials_.considers_per_cpu(); }

  static constexpr std::uint64_t faults_before = 32;  ///< the affinity thread first has work
  static constexpr std::size_t faults_between_looks = 1024;
  static constexpr std::size_t alone_for = 128;  ///< times in a row that only one thread faults
  static constexpr std::size_t looked_at = 128;  ///< faults
  static constexpr std::size_t several_if = 16;  ///< of these, by another than the one before
  static constexpr std::uint64_t trusted_ns = 500'000;  ///< a thread that faults runs where it did

 private:
  [[nodiscard]] bool count_until_able(std::size_t faults, std::size_t ahead);
  [[nodiscard]] std::uint64_t run_ns();
  void count_threads(std::uint64_t now);
  void move_pager(PagerCpu to, std::uint64_t now);

  AffinityLink& link_;
  FaultingThreads& threads_;
  AffinityTrials trials_;
  PagerCpu wanted_ = PagerCpu::any;
  std::size_t since_look_ = 0;
  std::uint64_t so_far_ = 0;  // faults, before the affinity thread is told of any
  std::size_t times_ = 0;  // that some thread has faulted, in this look
  std::size_t others_ = 0;  // of these, another thread than the time before
  int last_thread_ = 0;  // that has faulted
  bool is_another_ = false;  // some of those that have faulted since faults were last reported
  std::uint64_t last_report_ = 0;
  std::uint64_t trusted_until_ = 0;  // a thread that faults to run where it did
  std::size_t alone_ = 0;  // times in a row that all faults reported were one thread's
  FaultingThreads::News news_ = FaultingThreads::News::none;
};

}  // namespace nearfar::tier

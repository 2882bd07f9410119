#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/os/status.h"
#include "tier/service/affinity_link.h"
#include "tier/service/affinity_thread.h"
#include "tier/service/fault_observer.h"
#include "tier/service/faulting_threads.h"

namespace nearfar::tier {

/// Decides on which processors the pager's threads run, and has them run there: on the processor of
/// the thread that faults, where that is faster, if need be with the scheduling policy for idle
/// processors (SCHED_IDLE). By that, the processor of a thread that is woken counts as idle though
/// the pager's thread still runs there. Meanwhile, threads that fault are kept on that processor,
/// too (faulting_threads.h). With `per_cpu` there is a pager thread, a *worker*, on each of several
/// processors, which serves the threads that are kept there. The first worker, and those that have
/// any such threads, read the kernel's messages, and hand on the faults of others.
///
/// The pager's threads find out where they had better be (fault_observer.h), and the *affinity
/// thread* moves them (affinity_thread.h). A thread of that policy hardly runs where others want
/// the processor all the time. So every 20 ms the affinity thread checks whether faults are served.
/// If a thread waits and goes on to, it releases the pager's threads for a while; and if no thread
/// has faulted for ten such looks, until one does. To leave that policy takes a right
/// (CAP_SYS_NICE, or RLIMIT_NICE of 20): without it, the pager's thread has the usual policy there,
/// and threads that it wakes stay as they are kept there. Nothing is moved where there is one
/// processor only, or the program has been given another policy.
///
/// The pager's thread works while one of the program's waits, for three quarters of the time where
/// the program does little but fault. Beside one other thread that wants the processor all the
/// time, the two would have 4/7 of it: the pager's thread as much as that other, and the program's
/// a third of that. Two steps of niceness (1586 : 1024 in the kernel's table of weights) make it
/// 2/3, as two threads have that need not wait for each other.
class PagerAffinity {
 public:
  static constexpr std::size_t most_workers = AffinityLink::most_workers;

  PagerAffinity() = default;
  PagerAffinity(const PagerAffinity&) = delete;
  PagerAffinity& operator=(const PagerAffinity&) = delete;

  /// Before there are the threads, also those of a forked child. `faults`: a descriptor that is
  /// readable while faults wait.
  void start(int faults, PagerCpu wanted);
  /// What the affinity thread does.
  [[noreturn]] void run() { thread_.run(); }
  /// Returns when the affinity thread has opened what it needs for as long as it makes calls.
  void wait_for_thread();

  // For the pager's threads.
  /// The number of a worker's thread. The first is there before the others.
  void set_thread(std::size_t worker, int thread) { link_.workers[worker].thread.store(thread); }
  /// Whether there are to be several workers, as many as `processors`; and that there are so many.
  [[nodiscard]] bool wants_workers() const {
    return link_.state.load(std::memory_order_acquire) == AffinityLink::able &&
           observer_.wants_workers();
  }
  [[nodiscard]] std::size_t processors() const { return link_.processors; }
  void set_workers(std::size_t count) {
    link_.worker_count.store(count);
    link_.signal();
  }
  /// Whether the process has been forbidden system calls since the affinity thread started, as
  /// `status`, an open file, tells: a thread could not be started then.
  [[nodiscard]] bool is_sandboxed(int status) const {
    return os::filters_of(status) != thread_.filters();
  }
  /// How many workers serve faults now.
  [[nodiscard]] std::size_t workers() const {
    return link_.workers_in_use.load(std::memory_order_relaxed);
  }
  /// Whether threads are kept on the processor of this worker.
  [[nodiscard]] bool keeps_any(std::size_t worker) const { return threads_.keeps_any(worker); }

  /// As FaultObserver has them.
  [[nodiscard]] std::size_t add_fault(int thread, std::size_t reader) {
    return observer_.add_fault(thread, reader);
  }
  bool report_faults(std::uint64_t now, std::size_t faults, std::size_t ahead) {
    return observer_.report_faults(now, faults, ahead);
  }
  void report_idle() { observer_.report_idle(); }
  [[nodiscard]] bool is_same_idle() const { return observer_.is_same_idle(); }

  /// A worker has served so many faults.
  void report_served(std::size_t worker, std::uint64_t faults) {
    link_.workers[worker].served.fetch_add(faults, std::memory_order_relaxed);
  }
  /// A worker knows of no other fault than this thread's, which has been woken; and no worker knows
  /// of any.
  void forget_fault(std::size_t worker, int thread) {
    link_.workers[worker].serves.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
  }
  void forget_faults();

  /// From now on all threads run where the scheduler puts them, and the affinity thread makes no
  /// calls for that.
  void stop();

  // For threads of the program.
  /// A request to the first worker, until it is answered.
  void begin_request() { link_.unanswered.fetch_add(1); }
  void end_request() { link_.unanswered.fetch_sub(1); }
  /// No thread is kept anywhere for a while: the caller is about to start something that would be
  /// kept there, too, or to ask.
  void release_threads() { wait_until_released(false); }
  /// The same until `end_release`.
  void begin_release();
  void end_release() { threads_.end_release(); }

 private:
  void wait_until_released(bool until_end);

  AffinityLink link_;
  FaultingThreads threads_;
  FaultObserver observer_{link_, threads_};
  AffinityThread thread_{link_, threads_};
};

}  // namespace nearfar::tier

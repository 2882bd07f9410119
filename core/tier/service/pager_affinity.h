#pragma once

#include <array>
#include <atomic>
#include <span>

#include "tier/os/cpu.h"
#include "tier/os/status.h"
#include "tier/service/affinity_trials.h"
#include "tier/service/faulting_threads.h"

namespace nearfar::tier {

/// Keeps the pager's thread beside whoever faults, or behind, where that is faster: on the same
/// processor, or there with the scheduling policy for idle processors (SCHED_IDLE), by which the
/// processor of a thread that is woken counts as idle though the pager's thread still runs there.
/// While it is behind them, those that fault are kept on that processor, too (faulting_threads.h).
///
/// Where it is told to be behind them on *each* of several processors, there is a thread of the
/// pager's for each, a *worker*, which serves those that are kept on the same processor. The first,
/// and those that have any, hear what the kernel tells of faults, and hand on what is another's.
///
/// Two threads are at work. The pager's finds out where it had better be, and says so. Another one,
/// the *affinity thread*, puts it there: nobody else does, so that what one has done the other
/// cannot undo, and what it opens for that is in a table of its own. A thread of that policy hardly
/// runs where others want the processor all the time. So every 20 ms the affinity thread looks
/// whether faults are served. If somebody waits and goes on to, it gives the pager's thread its
/// place among the others back, for a while; and if nobody has faulted for ten such looks, until
/// somebody does. To leave that policy takes a right (CAP_SYS_NICE, or RLIMIT_NICE of 20): without
/// it, the pager's thread is behind by name only, an equal there, and who is woken stays as it is
/// kept there. Nobody is followed where there is one processor only, or the program has been given
/// another policy.
///
/// The pager's thread works while one of the program's waits, for three quarters of the time where
/// the program does little but fault. Beside one other that wants the processor all the time, the
/// two would have 4/7 of it: the pager's thread as much as that other, and the program's a third of
/// that. Two steps of niceness (1586 : 1024 in the kernel's table of weights) make it 2/3, as two
/// threads have that need not wait for each other.
///
/// A program may forbid all of its threads these calls, and be killed for them. So the affinity
/// thread looks before each whether the first thread has been forbidden any since it started, and
/// then makes none any more.
class PagerAffinity {
 public:
  PagerAffinity() = default;
  PagerAffinity(const PagerAffinity&) = delete;
  PagerAffinity& operator=(const PagerAffinity&) = delete;

  /// Before there are the two threads, also those of a forked child. `faults`: what tells whether
  /// any wait.
  void start(int faults, PagerCpu wanted);
  static constexpr std::size_t most_workers = 8;
  /// The number of a thread of the pager's, of which the first is there before the others.
  void follows(std::size_t worker, int thread) { workers_[worker].thread.store(thread); }
  /// Whether there are to be several, as many as `processors`; and that there are so many.
  [[nodiscard]] bool wants_workers() const {
    return state_.load(std::memory_order_acquire) == able && placement_.considers_per_cpu();
  }
  [[nodiscard]] std::size_t processors() const { return processors_; }
  /// Whether the process has been forbidden system calls since the affinity thread started, by what
  /// the kernel tells of it: a thread could not be started then.
  [[nodiscard]] bool is_sandboxed(int status) const { return os::filters_of(status) != filters_; }
  void set_workers(std::size_t count) {
    there_.store(count);
    ring();
  }
  /// How many serve faults now.
  [[nodiscard]] std::size_t workers() const { return in_use_.load(std::memory_order_relaxed); }
  /// What the affinity thread does.
  [[noreturn]] void place_for_ever();
  /// Returns when the affinity thread has opened what it needs for as long as it makes calls.
  void wait_for_affinity_thread();

  /// This thread waits for a page. Which worker is to serve it, if `reader` has read of it.
  [[nodiscard]] std::size_t faulted(int thread, std::size_t reader);
  /// Those faults were learnt of, so many, at `now` in nanoseconds; `ahead` is how many pages have
  /// come since the last time beside those that were touched. Whether the pager's thread is kept on
  /// a processor.
  bool learnt(std::uint64_t now, std::size_t faults, std::size_t ahead);
  /// So many faults were served by a worker.
  void served(std::size_t worker, std::uint64_t faults) {
    workers_[worker].served.fetch_add(faults, std::memory_order_relaxed);
  }
  /// Nobody's fault is known of by a worker but this thread's, which has been woken.
  void knows_of_no_other(std::size_t worker, int thread) {
    workers_[worker].serves.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
  }
  /// Nobody's by any.
  void knows_of_none() {
    for (std::size_t i = 0; i < there_.load(std::memory_order_relaxed); ++i)
      workers_[i].serves.store(0, std::memory_order_relaxed);
  }
  /// Whether those that fault often run on the pager's processor, and as soon as they can.
  [[nodiscard]] bool is_behind() const {
    return kept_on_.load(std::memory_order_relaxed) != 0 && wanted_ == PagerCpu::same_idle;
  }

  /// Somebody asks something of the first worker, and has been answered.
  void asked() { unanswered_.fetch_add(1); }
  void answered() { unanswered_.fetch_sub(1); }
  /// Whether threads are kept on the processor of this worker.
  [[nodiscard]] bool keeps_any(std::size_t worker) const { return faulting_.keeps_any(worker); }

  /// No fault is known of. Who is kept beside the thread that faults runs while that waits; so if
  /// it does not wait for a fault, it may have gone to another processor.
  void nothing_to_do();

  /// From now on all threads run where the scheduler puts them, and no calls are made to that end.
  void stop();

  /// For threads of the program: none of them is kept anywhere for a while, as this one is about to
  /// start something that would be kept there, too, or to ask.
  void let_go();
  /// The same until `keep_again`, which says that this is over.
  void let_go_until_then();
  void keep_again() { faulting_.release(); }

 private:
  static constexpr std::uint64_t faults_before =
      32;  ///< the affinity thread first has something to do
  static constexpr std::size_t faults_between_looks = 1024;
  static constexpr std::size_t alone_for = 128;  ///< times in a row that only one thread faults
  static constexpr std::size_t looked_at = 128;  ///< faults
  static constexpr std::size_t several_if = 16;  ///< of these, by another than the one before
  static constexpr int preferred_by = 2;  ///< steps of niceness
  static constexpr std::uint64_t tick_ns = 20'000'000;
  static constexpr std::uint64_t first_look_ns = 5'000'000;  ///< after it has been put behind
  static constexpr std::uint64_t trusted_ns = 500'000;  ///< who faults runs where it did
  static constexpr std::uint64_t slowest_ns = 1'000'000;  ///< a fault, of one who cannot starve
  static constexpr std::uint64_t longest_quiet = 10;  ///< looks without a fault, until it rests

  enum State : std::uint32_t { absent, unknown, able, unable, stopped };

  void ring();
  void wait_for_nobody_kept(bool until_release);
  [[nodiscard]] bool is_heard() const { return heard_.load() == rung_.load(); }
  void obey();
  [[nodiscard]] State find_out();
  [[nodiscard]] bool may_call();
  void place();
  [[nodiscard]] int cpu_of(int thread);
  [[nodiscard]] int stat_of(int thread);
  [[nodiscard]] int cpu_for_all();
  bool give_place_back();
  void place_per_cpu();
  void look_later(std::uint64_t ns);
  void look_after();
  [[nodiscard]] bool does_starve(std::size_t worker, bool none_serves);

  // The pager's threads', by turns.
  AffinityTrials placement_;
  std::size_t since_look_ = 0;
  std::uint64_t so_far_ = 0;  // faults, before the affinity thread is told of any
  std::size_t times_ = 0;  // that somebody has faulted, in this look
  std::size_t others_ = 0;  // of these, another thread than the time before
  int last_thread_ = 0;  // who has faulted last
  bool is_another_ = false;  // some of those that have faulted since faults were last learnt of
  std::uint64_t last_learnt_ = 0;  // that faults were
  std::uint64_t trusted_until_ = 0;  // who faults to run where it did
  std::size_t alone_ = 0;  // times in a row that faults were learnt of, all by one thread
  FaultingThreads::News news_ = FaultingThreads::News::none;  // of those that fault
  PagerCpu wanted_ = PagerCpu::any;

  // What the pager's threads say.
  std::atomic<PagerCpu> where_{PagerCpu::any};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> rung_{0};  // times
  std::atomic<int> thread_{0};  // who faults
  struct Worker {
    std::atomic<int> thread{0};
    std::atomic<int> serves{0};  // the last one whose fault it knows of, until that is served
    std::atomic<std::uint64_t> served{0};  // faults
    std::uint64_t seen = 0;  // of these, the affinity thread's at the last look
  };
  std::array<Worker, most_workers> workers_;  // the first is where there is only one
  std::atomic<std::size_t> there_{1};
  std::atomic<std::uint32_t> unanswered_{0};
  FaultingThreads faulting_;

  // What the affinity thread says.
  std::atomic<std::uint32_t> heard_{0};
  std::atomic<std::uint32_t> state_{absent};
  std::atomic<std::uint32_t> kept_on_{0};  // a processor, counted from 1; 0: none
  std::atomic<std::uint32_t> in_use_{1};  // workers
  std::size_t processors_ = 1;  // that the pager's thread may run on, when it is `able`
  std::atomic<bool> starved_{false};
  std::atomic<bool> rests_{false};  // it had nothing to do

  // The affinity thread's.
  PagerCpu is_ = PagerCpu::any;
  int watched_ = 0;  // thread
  int stat_ = -1;  // of that
  int status_ = -1;  // of the process
  int filters_ = 0;
  bool may_idle_ = false;  // the pager's threads may take that policy, and leave it again
  int faults_ = -1;
  os::Cpus allowed_;  // to the pager's thread, while it is not kept anywhere
  os::Cpus own_;  // allowed to itself
  std::array<int, most_workers> cpus_{};  // of the workers, while there are several
  std::uint64_t looked_ = 0;  // last
  std::uint64_t next_look_ = 0;
  std::uint64_t quiet_ = 0;  // looks in a row without any
};

}  // namespace nearfar::tier

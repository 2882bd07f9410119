#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tier/os/cpu.h"
#include "tier/service/affinity_link.h"
#include "tier/service/faulting_threads.h"

namespace nearfar::tier {

/// What the kernel tells of one thread at a time, through an open file.
class ThreadStat {
 public:
  /// In a forked child the file is the parent's, in a table that was not copied.
  void forget() { *this = {}; }
  /// The file of a thread of this process; below 0 if it has ended.
  int of(int thread);

 private:
  int thread_ = 0;
  int file_ = -1;
};

/// Moves the pager's threads between processors, and keeps the program's threads beside them. No
/// other thread does that, so that none undoes what another has done. It has a table of descriptors
/// of its own, which holds what it opens.
///
/// A program may forbid all of its threads the calls that this takes, and be killed for them. So
/// before each of them, this thread checks whether the process's first thread has been forbidden
/// any since this one started, and then makes none any more.
class AffinityThread {
 public:
  AffinityThread(AffinityLink& link, FaultingThreads& threads) : link_(link), threads_(threads) {}

  /// Before it runs. `faults`: a descriptor that is readable while faults wait.
  void start(int faults);
  /// What the thread does.
  [[noreturn]] void run();

  // Single steps of it.
  /// Opens what it needs for as long as it makes calls.
  void open();
  /// Waits for a signal, or until it is time for a look, and does what is asked for.
  void step();
  /// Does what the pager's threads ask for.
  void obey();
  /// Whether the pager's threads get to run where they are, and the threads kept there still fault.
  void look_after();

  /// How many filters of system calls the process had when this thread started.
  [[nodiscard]] int filters() const { return filters_; }

  static constexpr int preferred_by = 2;  ///< steps of niceness
  static constexpr std::uint64_t tick_ns = 20'000'000;
  static constexpr std::uint64_t first_look_ns = 5'000'000;  ///< after the pager was moved
  static constexpr std::uint64_t slowest_ns = 1'000'000;  ///< a fault, without starvation
  static constexpr std::uint64_t longest_quiet = 10;  ///< looks without a fault, until it rests

 private:
  /// When the last look was, and what it saw.
  struct Looks {
    std::uint64_t last_ns = 0;
    std::uint64_t next_ns = 0;
    std::uint64_t quiet = 0;  ///< looks in a row without a fault
    std::array<std::uint64_t, AffinityLink::most_workers> served{};  ///< faults, by worker
  };

  [[nodiscard]] AffinityLink::State find_state();
  [[nodiscard]] bool may_call();
  void move_pager();
  void put_pager_on(int cpu, PagerCpu wanted);
  [[nodiscard]] bool begin_per_cpu();
  void keep_per_cpu();
  [[nodiscard]] int choose_cpu(PagerCpu wanted);
  [[nodiscard]] int cpu_of(int thread);
  [[nodiscard]] bool release_pager();
  void look_later(std::uint64_t ns);
  [[nodiscard]] std::uint64_t served_lately(std::size_t worker) const;
  [[nodiscard]] bool does_starve(std::size_t worker, bool none_serves);
  [[nodiscard]] bool has_waiting(std::size_t worker, bool none_serves);

  AffinityLink& link_;
  FaultingThreads& threads_;
  PagerCpu current_ = PagerCpu::any;
  ThreadStat stat_;
  int status_ = -1;  // of the process
  int filters_ = 0;
  bool may_idle_ = false;  // the pager's threads may take the policy for idle processors, and leave
                           // it again
  int faults_ = -1;
  os::Cpus allowed_;  // to the pager's thread, while it is not kept anywhere
  os::Cpus own_;  // allowed to this one
  std::array<int, AffinityLink::most_workers> cpus_{};  // of the workers, with `per_cpu`
  Looks looks_;
};

}  // namespace nearfar::tier

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/service/pager_cpu.h"

namespace nearfar::tier {

/// What the pager's threads and the affinity thread (pager_affinity.h) tell each other.
struct AffinityLink {
  static constexpr std::size_t most_workers = 8;

  /// What the affinity thread can do.
  enum State : std::uint32_t { absent, unknown, able, unable, stopped };

  /// A thread of the pager's that serves faults.
  struct Worker {
    std::atomic<int> thread{0};
    std::atomic<int> serves{0};  ///< the last thread whose fault it knows of, until that is served
    std::atomic<std::uint64_t> served{0};  ///< faults
  };

  // What the pager's threads say.
  std::atomic<PagerCpu> wanted{PagerCpu::any};
  std::atomic<bool> stop{false};
  std::atomic<int> faulting_thread{0};  ///< that has faulted last
  std::array<Worker, most_workers> workers;
  std::atomic<std::size_t> worker_count{1};
  std::atomic<std::uint32_t> unanswered{0};  ///< requests of the program to the first worker
  std::atomic<std::uint32_t> signals{0};  ///< times that the affinity thread was signalled

  // What the affinity thread says.
  std::atomic<std::uint32_t> signals_seen{0};
  std::atomic<std::uint32_t> state{absent};
  std::atomic<std::uint32_t> kept_on{0};  ///< a processor, counted from 1; 0: none
  std::atomic<std::uint32_t> workers_in_use{1};
  std::size_t processors = 1;  ///< that the pager's thread may run on, when the state is `able`
  std::atomic<bool> starved{false};
  std::atomic<bool> rests{false};  ///< the pager had nothing to do

  /// Before there are the two threads, also those of a forked child.
  void start();
  /// For any thread: wakes the affinity thread.
  void signal();
  [[nodiscard]] bool has_seen_signals() const { return signals_seen.load() == signals.load(); }
  [[nodiscard]] bool keeps_pager() const { return kept_on.load(std::memory_order_relaxed) != 0; }
  void set_state(State next);
};

}  // namespace nearfar::tier

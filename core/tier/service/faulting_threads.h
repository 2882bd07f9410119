#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tier/os/cpu.h"

namespace nearfar::tier {

/// The program's threads that fault, and those of them that are kept on the pager's processor, or
/// each on one of several.
///
/// A pager that serves faults on the processor of the thread that waits is no gain when that thread
/// goes to another one, as it does whenever anything else wants this one for a moment. And where
/// several threads fault on several processors, all but one of them have to wake another processor
/// for each fault, and are woken by it. So they all stay where the pager is, while that is faster.
///
/// A thread hands on where it may run to what it starts, and may ask for it. So before the program
/// does either (`hold`), all of its threads may run where they could before, and do so for a while.
///
/// Who faults rarely is in nobody's way elsewhere, so nobody is kept for a single fault.
class FaultingThreads {
 public:
  static constexpr std::size_t most = 32;  ///< that are known
  static constexpr std::uint32_t often = 2;  ///< faults, before a thread is kept; a trial has few
  /// Nobody is kept for so long after `hold`: the program is to have done by then what it held for.
  static constexpr std::uint64_t hold_ns = 50'000'000;
  /// Nor after `release`, twice as long after each that comes sooner than that after the one
  /// before: a program that starts several threads is not to let all go for each.
  static constexpr std::uint64_t first_rest_ns = 500'000;

  /// Before there are the pager's thread and the affinity thread, also those of a forked child.
  void start();

  /// What is new about a thread that has faulted.
  enum class News : std::uint8_t {
    none,
    again,  ///< it is to be kept from now on, as it was before it was let go
    joined,  ///< it is to be kept, and was not before, as far as is known of the last `most`
  };
  /// For the pager's threads: this one has faulted.
  News faulted(int thread);
  /// Which of the processors the thread that has faulted last is kept on, by its position among
  /// those that were given; `nowhere` if on none.
  [[nodiscard]] std::size_t last_kept() const {
    if (!last_is_known_) return nowhere;
    const std::uint32_t at = known_[last_].kept_at.load(std::memory_order_relaxed);
    return at == 0 ? nowhere : at - 1;
  }
  static constexpr std::size_t nowhere = ~std::size_t{0};
  /// Whether any is kept at this position.
  [[nodiscard]] bool keeps_any(std::size_t at) const {
    return std::any_of(known_.begin(), known_.end(), [at](const Known& known) {
      return known.kept_at.load(std::memory_order_relaxed) == at + 1;
    });
  }

  // For the affinity thread.
  /// Keeps all that fault often there, each on one and as many on one as on another, but those that
  /// may not run there and those that the program itself keeps on one processor.
  void keep_on(std::span<const int> cpus);
  /// Lets those go, and knows them no more, that have faulted less often since the last time.
  void let_idle_go(std::uint32_t least);
  void let_all_go();
  void forget_all();

  // For the program's threads.
  /// Asks that nobody be kept for a while, or until `release`; it is so when `kept` is 0.
  void hold();
  void hold_until_release() { holders_.fetch_add(1); }
  void release();
  [[nodiscard]] std::atomic<std::uint32_t>& kept() { return kept_; }
  [[nodiscard]] bool is_held() const;
  /// Whether the caller is of the process whose threads these are, and not of a child of it.
  [[nodiscard]] bool is_own_process() const;

 private:
  struct Known {
    std::atomic<int> thread{0};  // 0: none
    std::atomic<std::uint32_t> faults{0};
    std::atomic<std::uint32_t> kept_at{0};  // a processor, counted from 1; 0: none
  };
  struct Kept {
    int thread = 0;  // 0: none
    int cpu = 0;
    std::uint32_t faults = 0;  // at the last look
    os::Cpus before;
  };

  [[nodiscard]] News news_of(int thread);
  void keep(std::size_t i, int thread, std::span<const int> cpus, std::span<std::size_t> counts);
  void let_go(std::size_t i);
  void even_out(std::span<const int> cpus, std::span<std::size_t> counts);
  [[nodiscard]] bool is_ours(int thread) const;

  // The pager's threads write, but for threads that the affinity thread forgets, and where they are
  // kept.
  std::array<Known, most> known_;
  std::size_t last_ = 0;  // that faulted, if it
  bool last_is_known_ = false;
  std::array<int, most> joined_{};  // the last that did
  std::size_t next_joined_ = 0;

  std::array<Kept, most> threads_;  // the affinity thread's
  std::atomic<std::uint32_t> kept_{0};
  std::atomic<std::uint64_t> held_until_{0};
  std::atomic<std::uint64_t> released_{0};  // last
  std::atomic<std::uint64_t> rest_ns_{first_rest_ns};  // after that
  std::atomic<std::uint32_t> holders_{0};
  std::atomic<int> process_{0};
};

}  // namespace nearfar::tier

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "policy/offline/owned.h"
#include "tier/swap/gauge.h"
#include "tier/swap/groups.h"
#include "tier/swap/image.h"
#include "tier/swap/pace.h"

namespace nearfar::tier::swap {

/// What a monitor has seen and done so far: pages, unless it says otherwise.
struct Counts {
  Changes seen;
  std::uint64_t near = 0;             ///< at the last look
  std::uint64_t near_peak = 0;        ///< most at once, of those looked at
  std::uint64_t swapped = 0;          ///< at the last look
  std::uint64_t swapped_peak = 0;
  std::uint64_t faults = 0;  ///< that had to wait for a page; 0 without a control group
  std::uint64_t evictions_asked = 0;
  std::uint64_t evictions = 0;        ///< of those, out right afterwards
  std::uint64_t refused = 0;          ///< of those, not: shared, locked, or swap is full
  std::uint64_t looks = 0;            ///< times the page tables were looked at
  std::uint64_t processes = 0;        ///< at the last look
  std::uint64_t processes_peak = 0;
  std::uint64_t watching_ns = 0;      ///< CPU time
  std::uint64_t evicting_ns = 0;      ///< CPU time, that of the kernel's compression included
  std::uint64_t elapsed_ns = 0;
};

/// Keeps the anonymous memory of a tree of processes near a limit from outside: watches their page
/// tables, tells a policy what changed, and has the kernel put into swap what the policy names.
///
/// All of it happens in one thread of this process, from the constructor until `stop`. Policies see
/// faults and nothing else: this has no access bits.
class Monitor final : private Listener {
 public:
  struct Options {
    std::string policy;
    std::uint64_t limit_pages = 0;
    std::string group;  ///< folder of the tree's control group; empty: it has none
    bool unified = false;  ///< it is one of version 2
    pid_t launcher = 0;  ///< the tree is its descendants; it inherits the tree's orphans
    pid_t program = 0;  ///< the child that is not this thread's to wait for
  };

  /// Throws InputError for a policy that there is not, and for a limit of 0.
  explicit Monitor(const Options& options);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor() override;

  /// From now on the tree may have so many pages. From any thread.
  void set_limit(std::uint64_t pages) { limit_.store(pages, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  [[nodiscard]] Counts counts() const;
  /// Ends the thread and throws what had ended it before, if anything.
  void stop();

 private:
  struct Watched {
    os::Process process;
    Image image;
  };
  struct Victim {
    std::uint32_t owner = 0;
    os::Place at = 0;
    PageIndex page = 0;
  };

  void run(const std::stop_token& stop);
  Pace::Duration step();
  void find_processes();
  void look();
  void room(PageIndex end) override { policy_.reserve(end); }
  void came(PageIndex page) override { policy_->fault(page); }
  void gone(PageIndex page) override { policy_->released(page); }

  /// `waiting`: a process waits for memory.
  void evict(std::uint64_t pages, bool waiting);
  void take_out(Watched& watched, std::span<const Victim> victims);
  void check(Watched& watched, std::span<const Victim> victims);
  void note(const Reading& reading);
  void publish();

  Options options_;
  std::atomic<std::uint64_t> limit_;
  std::uint64_t capacity_;  // the limit that the policy knows
  Gauge gauge_;
  Groups groups_;
  policy::OwnedReplacement policy_;
  std::vector<std::unique_ptr<Watched>> watched_;  // by owner; null: free
  std::vector<pid_t> processes_;
  Pace pace_;
  Reading before_;
  Reading looked_at_;
  std::chrono::steady_clock::time_point next_look_;
  std::uint64_t evicted_since_ = 0;
  unsigned fruitless_ = 0;  // steps to wait before the next attempt, after one that freed nothing
  unsigned patience_ = 1;
  std::vector<Victim> victims_;
  std::vector<os::Span> spans_;
  Counts counts_;  // the thread's own

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::condition_variable_any bell_;
  Counts published_;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace nearfar::tier::swap

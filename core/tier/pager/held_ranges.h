#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// Memory that system calls of the program work on at this moment, where a call that found a page
/// of it far would fail (`--sigbus`). Eviction passes over it.
///
/// Threads add and remove ranges without the pager's lock. So that none is missed, eviction first
/// says that pages are about to leave and then looks at the ranges; a thread first adds its range
/// and then looks whether pages are about to leave, in which case it waits until that is over.
class HeldRanges {
 public:
  static constexpr std::size_t most = 1024;

  struct Range {
    std::atomic<int> thread{0};  ///< 0: not in use
    std::atomic<os::Place> begin{0};
    std::atomic<os::Place> end{0};
    os::Place frame = 0;    ///< of the call, on the thread's stack
    Range* next = nullptr;  ///< of the same call

    [[nodiscard]] std::size_t pages() const { return (end - begin) / os::page_bytes; }
  };

  /// Pages are about to leave, for its lifetime.
  class Leaving {
   public:
    explicit Leaving(HeldRanges& ranges) : ranges_(ranges) { ranges_.leaving_.store(true); }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    ~Leaving() { ranges_.leaving_.store(false, std::memory_order_release); }

   private:
    HeldRanges& ranges_;
  };

  /// Whole pages, for a thread; null if there are too many ranges. `guess` is where to look first.
  [[nodiscard]] Range* add(os::Place begin, os::Place end, int thread, std::size_t guess) {
    for (std::size_t i = 0; i < most; ++i) {
      const std::size_t at = (guess + i) % most;
      Range& range = ranges_[at];
      int free = 0;
      if (range.thread.load(std::memory_order_relaxed) != 0 ||
          !range.thread.compare_exchange_strong(free, thread))
        continue;
      std::size_t used = used_.load();
      while (used <= at && !used_.compare_exchange_weak(used, at + 1)) {
      }
      range.end.store(end, std::memory_order_relaxed);
      range.begin.store(begin);
      pages_.fetch_add(range.pages(), std::memory_order_relaxed);
      return &range;
    }
    return nullptr;
  }
  void remove(Range& range) {
    pages_.fetch_sub(range.pages(), std::memory_order_relaxed);
    range.begin.store(0, std::memory_order_relaxed);
    range.end.store(0, std::memory_order_relaxed);
    range.thread.store(0, std::memory_order_release);
  }
  /// Removes those of which `condition` is true.
  template <typename Condition>
  void remove_if(const Condition& condition) {
    for (std::size_t i = 0; i < used_.load(); ++i)
      if (ranges_[i].thread.load() != 0 && condition(ranges_[i])) remove(ranges_[i]);
  }
  [[nodiscard]] std::size_t position(const Range& range) const {
    return static_cast<std::size_t>(&range - ranges_.data());
  }

  /// Whether pages may be about to leave that were looked up before a range was added.
  [[nodiscard]] bool are_pages_leaving() const { return leaving_.load(); }
  /// How many pages all ranges have.
  [[nodiscard]] std::size_t pages() const { return pages_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool overlaps(os::Place begin, os::Place end) const {
    const std::size_t used = used_.load();
    return std::any_of(ranges_.begin(), ranges_.begin() + used, [&](const Range& range) {
      return range.begin.load() < end && begin < range.end.load();
    });
  }

 private:
  std::array<Range, most> ranges_{};
  std::atomic<std::size_t> used_{0};  // of these, at most, so far
  std::atomic<std::size_t> pages_{0};
  std::atomic<bool> leaving_{false};
};

}  // namespace nearfar::tier

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <functional>
#include <utility>

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
  struct Range {
    std::atomic<int> thread{0};  ///< 0: not in use
    std::atomic<os::Place> begin{0};
    std::atomic<os::Place> end{0};
    std::atomic<os::Place> frame{0};  ///< of the call, on the thread's stack; 0: not known yet
    Range* next = nullptr;            ///< of the same call

    [[nodiscard]] std::size_t pages() const {
      const os::Place from = begin.load();
      const os::Place to = end.load();
      return from != 0 && to > from ? (to - from) / os::page_bytes : 0;
    }
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

  /// Whole pages, for a thread's call; null if there is no memory for one more. `guess` is where to
  /// look first.
  [[nodiscard]] Range* add(os::Place begin, os::Place end, int thread, os::Place frame,
                           std::size_t guess) {
    const std::size_t used = used_.load();
    for (std::size_t i = 0; i < used; ++i)
      if (Range& range = at((guess + i) % used); take(range, thread))
        return fill(range, begin, end, frame);
    for (std::size_t next = used; next < most; ++next) {
      if (!has(next)) return nullptr;
      Range& range = at(next);
      if (!take(range, thread)) continue;
      std::size_t before = used_.load();
      while (before <= next && !used_.compare_exchange_weak(before, next + 1)) {
      }
      return fill(range, begin, end, frame);
    }
    return nullptr;
  }
  /// Of the calling thread's.
  static void remove(Range& range) {
    range.frame.store(0, std::memory_order_relaxed);
    range.begin.store(0, std::memory_order_relaxed);
    range.end.store(0, std::memory_order_relaxed);
    range.thread.store(0, std::memory_order_release);
  }
  /// Removes those of which `condition` is true, given the thread and the range.
  template <typename Condition>
  void remove_if(const Condition& condition) {
    const std::size_t used = used_.load();
    for (std::size_t i = 0; i < used; ++i) {
      Range& range = at(i);
      int thread = range.thread.load();
      // Taken first: another thread may be about to remove it, too.
      if (thread > 0 && condition(thread, range) &&
          range.thread.compare_exchange_strong(thread, removed))
        remove(range);
    }
  }
  /// Has memory for more ranges than most programs need: one may forbid itself to ask for more.
  void reserve() {
    for (std::size_t number = 1; number < reserved_blocks; ++number)
      (void)has(of_block(number) - first_block);
  }
  /// Those of all threads, where there is only one.
  void remove_all() {
    const std::size_t used = used_.load();
    for (std::size_t i = 0; i < used; ++i) remove(at(i));
  }
  [[nodiscard]] std::size_t position(const Range& range) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < most_blocks; first += of_block(i), ++i) {
      const Range* const begin = block(i);
      if (begin != nullptr && !std::less<>()(&range, begin) &&
          std::less<>()(&range, begin + of_block(i)))
        return first + static_cast<std::size_t>(&range - begin);
    }
    return 0;
  }

  /// Whether pages may be about to leave that were looked up before a range was added.
  [[nodiscard]] bool are_pages_leaving() const { return leaving_.load(); }
  /// How many pages all ranges have.
  [[nodiscard]] std::size_t pages() const {
    std::size_t all = 0;
    const std::size_t used = used_.load();
    for (std::size_t i = 0; i < used; ++i) all += at(i).pages();
    return all;
  }
  [[nodiscard]] bool overlaps(os::Place begin, os::Place end) const {
    const std::size_t used = used_.load();
    for (std::size_t i = 0; i < used; ++i)
      if (const Range& range = at(i); range.begin.load() < end && begin < range.end.load())
        return true;
    return false;
  }

 private:
  static constexpr int removed = -1;
  // Blocks of ranges, each twice as long as the one before. The first is a part of this.
  static constexpr std::size_t first_block = 1024;
  static constexpr std::size_t most_blocks = 16;
  static constexpr std::size_t reserved_blocks = 6;
  static constexpr std::size_t most = first_block * ((std::size_t{1} << most_blocks) - 1);

  [[nodiscard]] static constexpr std::size_t of_block(std::size_t number) {
    return first_block << number;
  }
  [[nodiscard]] static std::size_t block_of(std::size_t position) {
    return static_cast<std::size_t>(std::bit_width(position / first_block + 1)) - 1;
  }
  [[nodiscard]] const Range* block(std::size_t number) const {
    return number == 0 ? ranges_.data() : others_[number - 1].load();
  }
  [[nodiscard]] const Range& at(std::size_t position) const {
    const std::size_t number = block_of(position);
    return block(number)[position - (of_block(number) - first_block)];
  }
  [[nodiscard]] Range& at(std::size_t position) {
    return const_cast<Range&>(std::as_const(*this).at(position));
  }
  /// Whether there is a range at a position, for which memory is reserved if need be. Zeros are
  /// ranges that are not in use.
  [[nodiscard]] bool has(std::size_t position) {
    const std::size_t number = block_of(position);
    if (block(number) != nullptr) return true;
    const os::Place place = os::reserve(of_block(number) * sizeof(Range));
    if (place == 0) return false;
    Range* none = nullptr;
    if (!others_[number - 1].compare_exchange_strong(none, os::pointer<Range>(place)))
      os::unmap(place, of_block(number) * sizeof(Range));
    return true;
  }

  [[nodiscard]] static bool take(Range& range, int thread) {
    int free = 0;
    return range.thread.load(std::memory_order_relaxed) == 0 &&
           range.thread.compare_exchange_strong(free, thread);
  }
  static Range* fill(Range& range, os::Place begin, os::Place end, os::Place frame) {
    range.frame.store(frame, std::memory_order_relaxed);
    range.end.store(end, std::memory_order_relaxed);
    range.begin.store(begin);
    return &range;
  }

  std::array<Range, first_block> ranges_{};
  std::array<std::atomic<Range*>, most_blocks - 1> others_{};
  std::atomic<std::size_t> used_{0};  // of these, at most, so far
  std::atomic<bool> leaving_{false};
};

}  // namespace nearfar::tier

#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/record.h"

namespace nearfar::trace {

/// Exact counts of a trace. Memory grows with the pages it touches, not with its length.
class Summary {
 public:
  static constexpr Bytes page_bytes = 4096;

  struct Page {
    Address address;
    std::uint64_t accesses = 0;
  };

  /// Every record, in order; those of instructions too.
  void add(const Record& record, const Timing& timing);

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t count(Access access) const {
    return by_access_[static_cast<std::size_t>(access)];
  }
  /// Records by thread.
  [[nodiscard]] const std::vector<std::uint64_t>& by_thread() const { return by_thread_; }
  /// Records that are no fences.
  [[nodiscard]] std::uint64_t accesses() const;
  /// The lowest address, and the highest; both 0 without an access.
  [[nodiscard]] Address lowest() const { return lowest_; }
  [[nodiscard]] Address highest() const { return highest_; }
  [[nodiscard]] std::uint64_t lines() const;
  [[nodiscard]] std::uint64_t pages() const { return pages_.size(); }
  /// Accesses whose first line is the last line of the thread's previous access, or the next one.
  [[nodiscard]] std::uint64_t sequential() const { return sequential_; }
  /// Cycles from the first record to the last, or instructions of all threads.
  [[nodiscard]] std::uint64_t length() const { return last_ - first_; }
  /// The pages with most accesses, hottest first, of equals the lower first.
  [[nodiscard]] std::vector<Page> hottest(std::size_t count) const;

 private:
  struct Touched {
    std::uint64_t lines = 0;  // a bit each
    std::uint64_t accesses = 0;
  };
  struct Thread {
    bool begun = false;
    std::uint64_t last_line = 0;
  };
  static_assert(page_bytes / line_bytes == 64);

  void touch(const Record& record);

  std::uint64_t records_ = 0;
  std::array<std::uint64_t, access_kinds> by_access_{};
  std::vector<std::uint64_t> by_thread_;
  std::vector<Thread> threads_;
  Address lowest_;
  Address highest_;
  std::uint64_t sequential_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, Touched> pages_;  // by number; read in sorted order only
};

}  // namespace nearfar::trace

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/page_table.h"
#include "tier/windows.h"

namespace nearfar::tier {

/// A set of groups of pages, a bit a group: a hint that says of which it is worth while to look for
/// all. The memory is the caller's, all zeros.
class WholeGroups {
 public:
  WholeGroups() = default;
  explicit WholeGroups(std::uint64_t* bits) : bits_(bits) {}

  /// Words for so many pages.
  [[nodiscard]] static constexpr std::size_t words(std::size_t pages) {
    return pages / huge_pages / 64 + 1;
  }

  [[nodiscard]] bool has(PageNumber page) const {
    return bits_ != nullptr && (bits_[word(page)] & bit(page)) != 0;
  }
  void add(PageNumber page) {
    if (bits_ != nullptr) bits_[word(page)] |= bit(page);
  }
  void remove(PageNumber page) {
    if (has(page)) bits_[word(page)] &= ~bit(page);
  }

 private:
  [[nodiscard]] static std::size_t word(PageNumber page) { return page / huge_pages / 64; }
  [[nodiscard]] static std::uint64_t bit(PageNumber page) {
    return std::uint64_t{1} << (page / huge_pages % 64);
  }

  std::uint64_t* bits_ = nullptr;
};

/// The groups that streams of read-ahead will run into next, by their first pages; the last of
/// them.
class ExpectedGroups {
 public:
  static constexpr std::size_t most = 8;

  ExpectedGroups() { first_pages_.fill(no_page); }

  /// Where a group stands that has this first page; null if it is not expected.
  [[nodiscard]] PageNumber* find(PageNumber first) {
    const auto found = std::find(first_pages_.begin(), first_pages_.end(), first);
    return found == first_pages_.end() ? nullptr : &*found;
  }
  /// The place for the next: free, or of the group that has been expected longest.
  [[nodiscard]] PageNumber& next() {
    if (PageNumber* const free = find(no_page)) return *free;
    return first_pages_[oldest_++ % most];
  }

 private:
  std::array<PageNumber, most> first_pages_{};
  std::size_t oldest_ = 0;
};

}  // namespace nearfar::tier

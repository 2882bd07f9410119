#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/pager/page_table.h"
#include "tier/pager/windows.h"

namespace nearfar::tier {

/// A set of groups of pages, a bit a group: a hint that says of which it is worth while to look for
/// all. The memory is the caller's, all zeros.
class WholeGroups {
 public:
  explicit WholeGroups(std::uint64_t* bits) : bits_(bits) {}

  /// Words for so many pages.
  [[nodiscard]] static constexpr std::size_t words(std::size_t pages) {
    return pages / huge_pages / 64 + 1;
  }

  [[nodiscard]] bool has(PageNumber page) const { return (bits_[word(page)] & bit(page)) != 0; }
  void add(PageNumber page) { bits_[word(page)] |= bit(page); }
  void remove(PageNumber page) { bits_[word(page)] &= ~bit(page); }

 private:
  [[nodiscard]] static std::size_t word(PageNumber page) { return page / huge_pages / 64; }
  [[nodiscard]] static std::uint64_t bit(PageNumber page) {
    return std::uint64_t{1} << (page / huge_pages % 64);
  }

  std::uint64_t* bits_;
};

/// A set for so many pages, in memory that no allocator knows.
[[nodiscard]] inline WholeGroups reserve_groups(std::size_t pages) {
  return WholeGroups(os::reserve_array<std::uint64_t>(
      WholeGroups::words(pages), "no memory for the pager's tables (ulimit -v, ulimit -d)"));
}

}  // namespace nearfar::tier

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/os/system.h"
#include "tier/pager/page_table.h"

namespace nearfar::tier {

/// Pages of memory that the kernel fills and maps as one.
inline constexpr std::size_t huge_pages = 512;
static_assert(huge_pages == PageTable::group);
inline constexpr std::size_t huge_bytes = huge_pages * os::page_bytes;

/// Most pages of one window: what is taken back at once makes a fault wait for less than a
/// millisecond.
inline constexpr std::size_t most_window = 16 * huge_pages;

/// What a window may take whatever is free, as read-ahead does: so small a part of near memory
/// that pages leave for it.
[[nodiscard]] constexpr std::size_t modest_window(std::uint64_t limit) { return limit / 32; }

/// How many pages the next window has, behind one of `before` pages (0: there is none): twice as
/// many, but no more than an eighth of what is free beyond `kept_free`. 0: none, as that would not
/// be a whole huge page.
[[nodiscard]] constexpr std::size_t window_pages(std::size_t before, std::uint64_t limit,
                                                 std::uint64_t free, std::uint64_t kept_free) {
  const std::uint64_t share = free > kept_free ? (free - kept_free) / 8 : 0;
  const std::uint64_t most =
      std::min<std::uint64_t>(most_window, std::max<std::uint64_t>(share, modest_window(limit)));
  const std::size_t wanted = std::max(huge_pages, 2 * before);
  return std::min<std::uint64_t>(wanted, most) / huge_pages * huge_pages;
}

/// Ranges of fresh memory that are charged in full and not watched: first touches there are the
/// kernel's own faults, in huge pages. The table has their pages as fresh, and the policy knows
/// none of them, until the window is taken back. In the order in which they were granted.
class Windows {
 public:
  /// Each may split a mapping of the kernel's into three.
  static constexpr std::size_t most = 16;

  struct Window {
    PageNumber begin;
    PageNumber end;

    [[nodiscard]] std::size_t pages() const { return end - begin; }
  };

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const Window& operator[](std::size_t i) const { return windows_[i]; }
  [[nodiscard]] bool full() const { return count_ == most; }

  /// Not when full.
  void add(Window window) { windows_[count_++] = window; }
  Window take(std::size_t i) {
    const Window taken = windows_[i];
    std::copy(windows_.begin() + i + 1, windows_.begin() + count_, windows_.begin() + i);
    --count_;
    return taken;
  }

  /// The first granted that has a page of a range; size() if none has.
  [[nodiscard]] std::size_t find(PageNumber begin, PageNumber end) const {
    std::size_t i = 0;
    while (i < count_ && (windows_[i].end <= begin || end <= windows_[i].begin)) ++i;
    return i;
  }
  [[nodiscard]] bool hold(PageNumber page) const { return find(page, page + 1) != count_; }

 private:
  std::array<Window, most> windows_{};
  std::size_t count_ = 0;
};

}  // namespace nearfar::tier

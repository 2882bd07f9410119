#pragma once

#include <sys/ioctl.h>

#include <cstdint>

/// The request PAGEMAP_SCAN to a process's page map, which Linux 6.7 has and the headers of Debian
/// 12 do not. From Linux's include/uapi/linux/fs.h.
namespace nearfar::tier::os {

/// Pages side by side of the same categories.
struct ScannedRegion {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t categories;
};

struct PageScan {
  std::uint64_t size;  ///< of this
  std::uint64_t flags;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t walked_to;
  std::uint64_t regions;
  std::uint64_t most_regions;
  std::uint64_t most_pages;
  std::uint64_t inverted;
  std::uint64_t all_of;
  std::uint64_t any_of;
  std::uint64_t told;
};

inline constexpr long page_scan_request = _IOWR('f', 16, PageScan);
inline constexpr std::uint64_t note_writes_anew = 1U << 0U;  // PM_SCAN_WP_MATCHING

inline constexpr std::uint64_t page_is_written = 1U << 1U;
inline constexpr std::uint64_t page_is_file = 1U << 2U;
inline constexpr std::uint64_t page_is_present = 1U << 3U;
inline constexpr std::uint64_t page_is_swapped = 1U << 4U;
inline constexpr std::uint64_t page_is_zero = 1U << 5U;
inline constexpr std::uint64_t page_is_huge = 1U << 6U;
inline constexpr std::uint64_t page_is_soft_dirty = 1U << 7U;
inline constexpr std::uint64_t page_is_accessed = 1U << 9U;  // since Linux 7.3

}  // namespace nearfar::tier::os

#pragma once

#include <cstdint>

/// The words that all policies share.
namespace nearfar::policy {

/// A page by its dense number: 0, 1, 2, ... as the caller hands them out, so that what is known of
/// a page is an entry of a flat array.
using PageIndex = std::uint32_t;
inline constexpr PageIndex no_page = ~PageIndex{0};
/// Pages that a policy can tell apart: 1 TiB, less one page.
inline constexpr PageIndex most_pages = (PageIndex{1} << 28) - 1;

enum class Tier : std::uint8_t { near, far };

/// What a scan of the accessed and dirty bits found of one page since the scan before.
struct Scan {
  PageIndex page = no_page;
  bool accessed = false;
  bool written = false;
  /// How long after the scan before the page was accessed first, in sixteenths of the time between
  /// the two; 0 where the detector does not see it.
  std::uint8_t delay = 0;
  /// Accesses that the detector counted, if it samples them; else 0.
  std::uint32_t samples = 0;
};

/// Two pages that should change places: one moves to near memory, the other makes room for it.
/// Either may be `no_page`: near memory has room, or should have some.
struct Exchange {
  PageIndex promote = no_page;  ///< from far to near
  PageIndex demote = no_page;  ///< from near to far
  friend bool operator==(const Exchange&, const Exchange&) = default;
};

}  // namespace nearfar::policy

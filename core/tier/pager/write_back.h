#pragma once

#include <cstdint>

#include "tier/pager/far_pages.h"
#include "tier/pager/state.h"
#include "tier/pager/write_protection.h"

namespace nearfar::tier {

/// What becomes of a page's contents as it leaves near memory: written to far memory only where
/// nothing else tells them.
class WriteBack {
 public:
  enum class Need : std::uint8_t {
    none_protected,  ///< as in far memory: no write was told since it came write-protected
    none_equal,      ///< as in far memory: compared
    none_zeros,      ///< the page reads as zeros from now on
    write,
  };

  WriteBack(PagerState& state, FarPages& far, WriteProtection& protection)
      : state_(state), far_(far), protection_(protection) {}

  /// Leaves the contents of pages that are in limbo where they can be found again.
  void save(const Leaving& leaving);

  /// What a page needs that has these contents. `far_copy` is its copy in far memory, where it
  /// `is_compared`.
  [[nodiscard]] Need classify(PageNumber page, const void* contents, const void* far_copy) const;
  /// Says in the page table where the page's contents are from now on. One that is to be written
  /// gives up a slot that another process needs.
  void apply(PageNumber page, Need need);

  /// Whether a page must be compared with its copy in far memory to know if that is as it is. A
  /// page that came in for a write holds something else most likely; to write it again does no
  /// harm.
  [[nodiscard]] bool is_compared(PageNumber page) const {
    const Page& entry = state_.table[page];
    return entry.stored() && !entry.written && !entry.write_protected;
  }

 private:
  PagerState& state_;
  FarPages& far_;
  WriteProtection& protection_;
};

}  // namespace nearfar::tier

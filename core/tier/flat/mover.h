#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tier/flat/flat_pages.h"
#include "tier/pager/eviction.h"
#include "tier/pager/page_in.h"
#include "tier/pager/state.h"

namespace nearfar::tier {

/// Moves pages between two tiers that are both addressed directly, while the program runs.
///
/// A page is taken out of its place into staging memory, as a whole and without a copy (limbo.h). A
/// thread that touches it meanwhile waits until it is back. Two pages exchange their frames there:
/// the contents change places, then each goes back to its address in the other's frame. No frame is
/// allocated, so each tier has as many pages as before. Whatever the program does to a page that is
/// in limbo (munmap, mremap, madvise, fork), the pager does to it there.
///
/// The kernel refuses pages that are pinned for a device, shared since a fork, locked, or mapped
/// otherwise than to read and write. They stay where they are.
class Mover {
 public:
  struct Parts {
    PageIn& page_in;
    Arrivals& arrivals;
    Eviction& eviction;
  };
  Mover(PagerState& state, Parts parts) : state_(state), parts_(parts) {}

  /// Takes pages side by side into limbo, from the first on; how many. If none, the first one
  /// cannot be moved, or is there no more.
  [[nodiscard]] std::size_t take_out(PageNumber first, std::size_t count);
  /// Brings pages back that lie in limbo side by side, and at addresses side by side. How many came
  /// back; the others do when messages of the kernel have been read, or when they are touched.
  std::size_t bring_back(PageNumber first, std::size_t count);
  /// Brings all back; false if some stay.
  bool bring_all_back();

  /// Makes an exchange as far as it can be. The pages are dense numbers.
  void make(const policy::Exchange& exchange);
  /// Moves one page to the other tier; false if it stays.
  bool relocate(PageNumber page, policy::Tier to);

 private:
  [[nodiscard]] bool is_in(policy::PageIndex page, policy::Tier tier) const;
  [[nodiscard]] bool take_one(PageNumber page);
  void swap(PageNumber promoted, PageNumber demoted);
  void note_back(PageNumber first, std::size_t count);
  void note_away_since(std::uint64_t begun) const;
  [[nodiscard]] bool bring_copy_back(PageNumber page);

  PagerState& state_;
  Parts parts_;
};

}  // namespace nearfar::tier

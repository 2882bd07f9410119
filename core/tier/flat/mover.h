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
///
/// Pages side by side that change places with others side by side move together, up to 64 at once:
/// on Linux 6.18 that takes a third of the time or less, and none is away for longer than 0.2 ms.
class Mover {
 public:
  struct Parts {
    PageIn& page_in;
    Arrivals& arrivals;
    Eviction& eviction;
  };
  Mover(PagerState& state, Parts parts) : state_(state), parts_(parts) {}

  /// Takes pages side by side into limbo, from the first on; how many. If none, the first one
  /// cannot be moved, or is there no more. Only the first is taken if the mappings differ.
  [[nodiscard]] std::size_t take_out(PageNumber first, std::size_t count);
  /// Brings pages back that lie in limbo side by side, and at addresses side by side. How many came
  /// back; the others do when messages of the kernel have been read, or when they are touched.
  std::size_t bring_back(PageNumber first, std::size_t count);
  /// Brings all back; false if some stay.
  bool bring_all_back();

  /// Makes the first of these exchanges as far as it can be, and those behind it whose pages lie
  /// beside its own; how many. The pages are dense numbers.
  std::size_t make_some(std::span<const policy::Exchange> exchanges);
  void make(const policy::Exchange& exchange) { (void)make_some({&exchange, 1}); }
  /// Moves pages side by side to the other tier, from the first on; how many. If none, the first
  /// one stays.
  std::size_t relocate(PageNumber first, std::size_t count, policy::Tier to);

 private:
  [[nodiscard]] bool is_in(policy::PageIndex page, policy::Tier tier) const;
  [[nodiscard]] bool can_be(const policy::Exchange& exchange) const;
  [[nodiscard]] std::size_t run_of(std::span<const policy::Exchange> exchanges) const;
  [[nodiscard]] std::size_t take_or_refuse(PageNumber first, std::size_t count);
  [[nodiscard]] std::size_t exchange(PageNumber promoted, PageNumber demoted, std::size_t count);
  void swap(PageNumber promoted, PageNumber demoted);
  void bring_back_each(PageNumber first, std::size_t count);
  void note_back(PageNumber first, std::size_t count);
  void note_away_since(std::uint64_t begun) const;
  [[nodiscard]] bool bring_copy_back(PageNumber page);

  PagerState& state_;
  Parts parts_;
};

}  // namespace nearfar::tier

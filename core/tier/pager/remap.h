#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/pager/eviction.h"
#include "tier/pager/far_pages.h"
#include "tier/pager/fault_windows.h"
#include "tier/pager/pending_remaps.h"
#include "tier/pager/state.h"

namespace nearfar::tier {

/// What the program has done to its memory by system calls of its own, as the kernel tells. What is
/// not near exists in the pager only, so it is discarded where its mapping's contents are gone, and
/// brought along where a mapping has moved. No call here waits, or is one that the kernel would
/// tell of.
class Remap {
 public:
  Remap(PagerState& state, FarPages& far, Eviction& eviction, FaultWindows& windows);

  /// Whether the program has managed memory at `at`.
  [[nodiscard]] bool manages(os::Place at) const {
    return state_.is_managed(at / os::page_bytes * os::page_bytes);
  }
  /// For any thread: whether another mapping may cover something.
  [[nodiscard]] bool has_unmanaged() const { return state_.has_unmanaged.load(); }
  /// Whether a fault at `at` is the pager's matter: in managed memory, in a mapping that has moved,
  /// or in what one grew by. There the page is filled.
  [[nodiscard]] bool claim(os::Place at);
  /// A page was touched where the program has put a mapping, or has let one grow, past libc.
  void leave_to_kernel(os::Place at);

  /// madvise is about to drop these pages. Those that are near may still be there for a moment, or
  /// longer (MADV_FREE). They must not be taken into limbo: what is there now may not be found
  /// again. Which of them stay is not told, so they are not managed until they are touched when
  /// they are gone.
  void on_removed(os::Place begin, os::Place end);
  /// Nothing is mapped there any more, or something else.
  void on_unmapped(os::Place begin, os::Place end);
  /// A mapping has moved, and what was near with it. What was not is brought along, and then the
  /// mapping is the program's own matter: its addresses are the kernel's choice, not those of the
  /// region.
  void on_moved(os::Place begin, os::Place end, os::Place to);

  /// Forgets the contents of these pages. How many of them are near, and stay charged until
  /// `uncharge`.
  [[nodiscard]] std::uint64_t discard(os::Place begin, os::Place end);
  void uncharge(std::uint64_t pages) { state_.budget.release(pages); }
  /// Drops the memory, too, where pages leave by being copied. Nothing tells of that, so that no
  /// thread but the pager's may do it. False if the kernel refuses.
  [[nodiscard]] bool drop(os::Place begin, os::Place end);

  /// Fills the pages of mappings that have moved. True while that cannot be done, before messages
  /// have been read; nothing else may be done meanwhile.
  bool finish();
  [[nodiscard]] bool is_pending() const { return !pending_.empty(); }

 private:
  void track(const PendingRemaps::Remap& remap);
  void discard_remap(const PendingRemaps::Remap& remap);
  void discard_remapped(os::Place begin, os::Place end);
  [[nodiscard]] bool fill(PageNumber page, os::Place to);
  [[nodiscard]] bool fill_elsewhere(os::Place page) const;

  PagerState& state_;
  FarPages& far_;
  Eviction& eviction_;
  FaultWindows& windows_;
  PendingRemaps pending_;
  Extents finished_;  // mappings that have left the region, with all of their pages
};

}  // namespace nearfar::tier

#pragma once

#include <cstddef>
#include <cstdint>

#include "tier/pager/eviction.h"
#include "tier/pager/huge_pages.h"
#include "tier/pager/incoming_groups.h"
#include "tier/pager/page_in.h"
#include "tier/pager/state.h"

namespace nearfar::tier {

/// Lets pages that were never touched, and are read, be the kernel's one page of zeros, which takes
/// no near memory. Such a page stays `fresh` in the page table. It is write-protected, so that the
/// first write waits for the pager, which then charges it (PageIn::Run::there).
///
/// A page that is written after it was read has faulted twice, so this is done only while most such
/// pages are not.
///
/// The kernel shows a page of zeros and protects it in two steps. A thread that writes to it in
/// between gets a page of its own unnoticed; it is found and charged right after the second step.
class ZeroPages {
 public:
  ZeroPages(PagerState& state, Arrivals& arrivals, IncomingGroups& incoming, Eviction& eviction)
      : state_(state), arrivals_(arrivals), incoming_(incoming), eviction_(eviction) {}

  /// The kernel replaces pages of this process by others without protection (KSM).
  void forbid() { forbidden_ = true; }
  /// Whether a fresh page that is read should be shown as zeros.
  [[nodiscard]] bool pays();
  /// Shows missing fresh pages side by side, of one group, of which a thread waits for `touched`.
  [[nodiscard]] Filled show(Pages pages, PageNumber touched, os::Waking waking);
  /// Whether a thread waits to write to a page that is shown: it may have begun to wait before, or
  /// for a page that was there and has left since.
  [[nodiscard]] static bool is_written(const PagerState& state, const Fault& fault);
  /// How many of these pages are shown, from the first on.
  [[nodiscard]] std::size_t shown(Pages pages) const;
  /// A thread writes to so many.
  void broken(std::size_t pages) {
    for (std::size_t i = 0; i < pages; ++i) learn(broken_);
    state_.control.add(Count::zero_writes, pages);
  }
  /// False while messages must be read before what was shown is protected: that comes first then.
  [[nodiscard]] bool finish() { return unprotected_.empty() || protect_shown(); }
  /// Takes away what is shown between two addresses, where no thread is about to touch anything.
  void hide(os::Place begin, os::Place end) const;
  /// Takes away all in a child that has just been forked, in which nothing is protected any more.
  /// Before its memory is registered.
  static void hide_all_in_child(const PagerState& state);

  static constexpr std::uint32_t remembered = 4096;
  static constexpr std::uint32_t some = 64;  ///< before that, none is known to be written to
  static constexpr unsigned tried = 16;  ///< where it does not pay, one read of so many tries it

 private:
  [[nodiscard]] bool protect_shown();
  void find_written();
  void learn(std::uint32_t& which);

  PagerState& state_;
  Arrivals& arrivals_;
  IncomingGroups& incoming_;
  Eviction& eviction_;
  Pages unprotected_;  // shown, but not yet protected
  std::uint32_t shown_ = 0;
  std::uint32_t broken_ = 0;
  unsigned reads_ = 0;  // while it does not pay
  bool forbidden_ = false;
};

}  // namespace nearfar::tier

#pragma once

#include <cstddef>

#include "tier/pager/huge_pages.h"
#include "tier/pager/incoming_groups.h"
#include "tier/pager/state.h"
#include "tier/pager/windows.h"

namespace nearfar::tier {

/// First touches that the kernel serves by itself. A program that fills memory from one end to the
/// other is given the 2 MiB or more behind the 2 MiB that it begins, ahead of its touches: charged,
/// not registered, and in huge pages. That is one fault instead of 512, and fewer misses of the TLB
/// later. In small pages a window would not pay: the kernel's own fault takes longer than the
/// pager's copy of zeros to 32 pages at once, a page.
class FaultWindows {
 public:
  FaultWindows(PagerState& state, Arrivals& arrivals, HugePages& huge, IncomingGroups& incoming)
      : state_(state), arrivals_(arrivals), huge_(huge), incoming_(incoming) {}

  /// The windows that are open.
  [[nodiscard]] const Windows& open() const { return windows_; }
  [[nodiscard]] bool holds(PageNumber page) const { return windows_.hold(page); }

  /// The window to grant now that a fresh page was touched; an empty one if there is none.
  [[nodiscard]] Windows::Window plan(PageNumber touched) const;
  /// What a window takes of the budget, its part of the page table included; 0: it cannot be.
  [[nodiscard]] std::uint64_t charge_of(const Windows::Window& window) const;
  /// Whether a window is so small that pages are to leave for it.
  [[nodiscard]] bool is_modest(const Windows::Window& window) const {
    return window.pages() <= modest_window(state_.budget.limit());
  }
  /// Grants a window for which `charge_of` has been charged, since a page was touched.
  void grant(const Windows::Window& window, PageNumber touched);

  /// A program that fills memory will come to this group next, and is then granted it. Its touch
  /// must leave no table for small pages behind, so the kernel may have a huge page there: it makes
  /// one that it then gives up, as the memory is registered.
  void expect_fresh(PageNumber first);

  void close(PageNumber begin, PageNumber end);
  void close_all();
  /// Takes back all but a modest window for what is being filled now; false if that is nothing.
  bool close_surplus();

 private:
  [[nodiscard]] PageNumber first_shown(PageNumber first, PageNumber last) const;
  void close_at(std::size_t i);
  struct Found {
    std::size_t pages = 0;
    std::size_t huge = 0;
  };
  [[nodiscard]] Found find_arrived(const Windows::Window& window);

  PagerState& state_;
  Arrivals& arrivals_;
  HugePages& huge_;
  IncomingGroups& incoming_;
  Windows windows_;
  unsigned in_vain_ = 0;  // windows in a row that were filled, and not with huge pages
};

}  // namespace nearfar::tier

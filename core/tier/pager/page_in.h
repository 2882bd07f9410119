#pragma once

#include <cstddef>

#include "tier/os/uffd.h"
#include "tier/pager/eviction.h"
#include "tier/pager/far_pages.h"
#include "tier/pager/huge_pages.h"
#include "tier/pager/state.h"
#include "tier/pager/write_protection.h"

namespace nearfar::tier {

/// A touch that a thread waits for.
struct Fault {
  PageNumber page = no_page;
  os::Touch touch = os::Touch::read;
  os::Waking waking = os::Waking::at_once;
};

/// Pages that came, from the first on; and whether the kernel wants messages read before it fills
/// more.
struct Filled {
  std::size_t pages = 0;
  bool retry = false;
};

/// Fills missing pages: finds room, copies contents to their place, and takes down what came.
class PageIn {
 public:
  PageIn(PagerState& state, FarPages& far, Arrivals& arrivals, Eviction& eviction,
         const WriteProtection& protection)
      : state_(state),
        far_(far),
        arrivals_(arrivals),
        eviction_(eviction),
        protection_(protection) {}

  /// What is to be filled: missing pages side by side, all in the same state.
  struct Run {
    PageNumber first = no_page;
    std::size_t count = 1;
    State from = State::fresh;
    PageNumber touched = no_page;  ///< the one of them that a thread waits for, if any
    os::Protect protect = os::Protect::off;
    os::Waking waking = os::Waking::at_once;
    bool there = false;  ///< shown as zeros, and may be written to from now on
  };
  /// Makes these pages resident. None comes if the program no longer has them mapped, or if no
  /// thread waits for one and there is no room.
  [[nodiscard]] Filled fill(const Run& run);
  /// The same, or only its first page, where the run leaves the mapping.
  [[nodiscard]] Filled fill_or_first(const Run& run);
  /// Copies contents to their place and nothing else: no charge, no state.
  [[nodiscard]] Filled copy_in(const Run& run);
  /// Fills missing pages with these contents.
  [[nodiscard]] Filled put(PageNumber page, const void* contents, std::size_t count,
                           os::Waking waking, os::Protect protect = os::Protect::off) const;
  /// Fills a page with zeros.
  [[nodiscard]] Filled put_zeros(PageNumber page, os::Waking waking) const;
  /// Returns a page from limbo to its place.
  [[nodiscard]] Filled take_back(PageNumber page, os::Waking waking);
  /// Brings back what is far between two addresses, a run at a time, as long as `free` pages of
  /// room are left before each. What was never touched comes when it is.
  void bring_back(os::Place begin, os::Place end, std::uint64_t free);

  /// How a page comes in that was touched so: write-protected if it last left as it had come.
  [[nodiscard]] os::Protect protection_for(PageNumber page, os::Touch touch) const;

 private:
  [[nodiscard]] bool charge(const Run& run, std::size_t table_pages);
  [[nodiscard]] Filled copy_in_far(const Run& run);
  [[nodiscard]] Filled put_fresh(const Run& run) const;
  [[nodiscard]] Filled put_again(PageNumber page, const void* contents, os::Waking waking) const;

  PagerState& state_;
  FarPages& far_;
  Arrivals& arrivals_;
  Eviction& eviction_;
  const WriteProtection& protection_;
};

}  // namespace nearfar::tier

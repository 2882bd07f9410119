#pragma once

#include <cstddef>

#include "tier/pager/eviction.h"
#include "tier/pager/far_pages.h"
#include "tier/pager/fault_windows.h"
#include "tier/pager/huge_pages.h"
#include "tier/pager/page_in.h"
#include "tier/pager/remap.h"
#include "tier/pager/zero_pages.h"

namespace nearfar::tier {

/// What the library does to ranges of managed memory for the program: other mappings over it, and
/// mremap.
class Ranges {
 public:
  struct Parts {
    Remap& remap;
    Eviction& eviction;
    HugePages& huge;
    IncomingGroups& incoming;
    FaultWindows& windows;
    PageIn& page_in;
    ZeroPages& zeros;
  };
  Ranges(PagerState& state, Parts parts) : state_(state), parts_(parts) {}

  /// The program puts a mapping of another kind over these pages. False if there are too many such
  /// mappings.
  [[nodiscard]] bool cover(os::Place begin, os::Place end);
  /// These pages are managed no more, and keep their contents, which come to their places first:
  /// the kernel neither moves nor protects memory that is executed. `no` if there are too many such
  /// ranges; later, to be asked for again, if messages must be read before.
  [[nodiscard]] Outcome release(os::Place begin, os::Place end);
  /// The program takes such mappings away again.
  void uncover(os::Place begin, os::Place end);
  /// Moves contents to unused pages elsewhere in the region, and leaves what may be left behind to
  /// be discarded. Not if something else covers them; later, to be asked for again as it is, if
  /// messages must be read before. `passed` pages have been moved by then, 0 at first: they are not
  /// looked at again, as a neighbour's read-ahead may have put zeros where they were.
  [[nodiscard]] Outcome move(os::Place from, os::Place to, std::size_t length, PageNumber& passed);

 private:
  [[nodiscard]] bool drop_zeros(PageNumber page);
  [[nodiscard]] Outcome move_page(PageNumber from, PageNumber to);
  [[nodiscard]] Outcome move_resident(PageNumber from, PageNumber to);
  [[nodiscard]] Outcome copy_resident(PageNumber from, PageNumber to);

  PagerState& state_;
  Parts parts_;
};

}  // namespace nearfar::tier

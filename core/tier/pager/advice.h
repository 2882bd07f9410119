#pragma once

#include "tier/pager/eviction.h"
#include "tier/pager/fault_windows.h"
#include "tier/pager/huge_pages.h"
#include "tier/pager/page_in.h"

namespace nearfar::tier {

/// What the program says of ranges of its memory. Advice changes where pages are, never what is in
/// them. Not to be called while forking.
class Advice {
 public:
  Advice(PagerState& state, PageIn& page_in, Eviction& eviction, HugePages& huge,
         FaultWindows& windows)
      : state_(state), page_in_(page_in), eviction_(eviction), huge_(huge), windows_(windows) {}

  /// The program will use these pages soon: brings far ones back as long as that needs no eviction.
  void will_need(os::Place begin, os::Place end);
  /// The program will not use them for a while: evicts what is near, through limbo as always.
  void cold(os::Place begin, os::Place end);
  /// The program wants these pages near: brings them in, evicting others, and they do not leave
  /// until `release_near`, or until their contents are gone. What cannot come now stays when it has
  /// come. False, and nothing is kept, beyond half of near memory.
  [[nodiscard]] bool keep_near(os::Place begin, os::Place end);
  void release_near(os::Place begin, os::Place end) { eviction_.release_near(begin, end); }

 private:
  PagerState& state_;
  PageIn& page_in_;
  Eviction& eviction_;
  HugePages& huge_;
  FaultWindows& windows_;
};

}  // namespace nearfar::tier

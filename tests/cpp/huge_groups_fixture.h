#pragma once

#include <gtest/gtest.h>

#include "parts_rig.h"

namespace nearfar::tier {

/// Near memory that is large enough for groups to move as one.
class HugeGroups : public testing::Test {
 protected:
  explicit HugeGroups(std::uint64_t limit = 16384) : rig_({.pages = 8192, .limit = limit}) {}

  /// Makes the pages of a group resident, each with a word of its own, in one huge page.
  void bring_in_whole(PageNumber first) {
    bring_in_small(first);
    rig_.pages().each(rig_.place(first), huge_bytes,
                      [](FakePages::Info& page) { page.huge = true; });
    rig_.parts.huge.mark_whole(first);
  }
  void bring_in_small(PageNumber first) {
    for (PageNumber page = first; page < first + huge_pages; ++page)
      rig_.bring_in(page, word_of(page));
  }
  /// A group has left as one and has been written.
  void send_whole_far(PageNumber first) {
    bring_in_whole(first);
    EXPECT_EQ(rig_.parts.eviction.evict(), huge_pages);
    rig_.parts.eviction.drain_all();
    EXPECT_TRUE(incoming_.comes_whole(first));
  }
  void read_all_expected() {
    while (incoming_.read_expected()) {
    }
  }
  /// What ReadAhead does for a touched group that is expected.
  IncomingGroups::Arrived bring_in(PageNumber first) {
    if (!incoming_.begin(first)) {
      EXPECT_TRUE(incoming_.charge_group());
    }
    return incoming_.bring_in(first, os::Waking::at_once);
  }
  [[nodiscard]] bool may_be_huge(PageNumber page) {
    return rig_.pages().at(rig_.place(page)).wants_huge;
  }
  void expect_contents(PageNumber first, std::size_t count) {
    for (PageNumber page = first; page < first + count; ++page)
      ASSERT_EQ(rig_.word(page), word_of(page)) << page;
  }

  PartsRig rig_;
  PagerState& state_ = rig_.parts.state;
  IncomingGroups& incoming_ = rig_.parts.incoming;
  HugePages& huge_ = rig_.parts.huge;
  Eviction& eviction_ = rig_.parts.eviction;
};

}  // namespace nearfar::tier

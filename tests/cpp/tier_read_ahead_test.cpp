// What comes with a page that was touched: pages before or behind it, or a whole group.

#include <gtest/gtest.h>

#include <vector>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

class ReadAheadTest : public testing::Test {
 protected:
  explicit ReadAheadTest(const RigOptions& options = {.limit = 2048}) : rig_(options) {}

  void send_far(PageNumber first, PageNumber last) {
    for (PageNumber page = first; page < last; ++page) rig_.send_far(page, word_of(page));
  }
  Filled fault(PageNumber page) { return read_ahead_.bring_in({.page = page}); }
  /// The pages of [first, last) that are near.
  [[nodiscard]] std::vector<PageNumber> near(PageNumber first, PageNumber last) {
    std::vector<PageNumber> pages;
    for (PageNumber page = first; page < last; ++page)
      if (rig_.state_of(page) == State::near) pages.push_back(page);
    return pages;
  }
  using Pages = std::vector<PageNumber>;

  PartsRig rig_;
  PagerState& state_ = rig_.parts.state;
  ReadAhead& read_ahead_ = rig_.parts.read_ahead;
};

TEST_F(ReadAheadTest, APageOfNoStreamComesAlone) {
  send_far(100, 110);
  EXPECT_EQ(fault(105).pages, 1U);
  EXPECT_FALSE(read_ahead_.bring_in_more());
  EXPECT_EQ(near(100, 110), (Pages{105}));
}

TEST_F(ReadAheadTest, PagesBehindComeWithAPageThatContinuesAStream) {
  send_far(100, 110);
  (void)fault(100);
  EXPECT_TRUE(read_ahead_.continues_stream(101));
  EXPECT_EQ(fault(101).pages, 2U);
  EXPECT_EQ(near(100, 110), (Pages{100, 101, 102}));
  EXPECT_EQ(read_ahead_.came_ahead(), 1U);
  EXPECT_EQ(rig_.word(102), word_of(102));
}

TEST_F(ReadAheadTest, ATouchedPageComesAloneWhereItsRunLeavesTheMapping) {
  send_far(100, 110);
  (void)fault(100);
  rig_.pages()[rig_.place(102)].registered = false;  // past the library
  EXPECT_EQ(fault(101).pages, 1U);
  EXPECT_EQ(near(100, 110), (Pages{100, 101}));
}

TEST_F(ReadAheadTest, NothingComesWhereTheTouchedPageItselfCannot) {
  send_far(100, 110);
  (void)fault(100);
  rig_.pages()[rig_.place(101)].registered = false;
  const Filled filled = fault(101);
  EXPECT_EQ(filled.pages, 0U);
  EXPECT_FALSE(filled.retry);
}

TEST_F(ReadAheadTest, APageIsAskedForAgainWhileAChangeHasNotBeenRead) {
  send_far(100, 110);
  (void)fault(100);
  rig_.pages().changing = true;
  EXPECT_TRUE(fault(101).retry);
  EXPECT_TRUE(fault(99).retry);
  rig_.pages().changing = false;
  EXPECT_EQ(near(100, 110), (Pages{100}));
  EXPECT_EQ(fault(101).pages, 2U);
}

TEST_F(ReadAheadTest, PagesBeforeComeWithAPageOfAStreamThatGoesDown) {
  send_far(100, 110);
  (void)fault(109);
  EXPECT_EQ(fault(108).pages, 2U);
  EXPECT_EQ(fault(106).pages, 4U);
  EXPECT_EQ(near(100, 110), (Pages{103, 104, 105, 106, 107, 108, 109}));
}

TEST_F(ReadAheadTest, AStreamThatGoesDownStopsWithItsGroup) {
  send_far(508, 516);
  (void)fault(514);
  (void)fault(513);
  EXPECT_EQ(near(508, 516), (Pages{512, 513, 514}));
  EXPECT_EQ(fault(511).pages, 4U);
  EXPECT_EQ(near(508, 512), (Pages{508, 509, 510, 511}));
}

TEST_F(ReadAheadTest, DownwardsATouchedPageComesAloneWhereAMappingEnds) {
  send_far(100, 110);
  (void)fault(109);
  rig_.pages()[rig_.place(107)].registered = false;
  EXPECT_EQ(fault(108).pages, 1U);
  EXPECT_EQ(near(100, 110), (Pages{108, 109}));
}

TEST_F(ReadAheadTest, DownwardsWhatCameBesideAPageThatCannotIsStillCounted) {
  send_far(100, 110);
  (void)fault(109);
  rig_.pages()[rig_.place(108)].present = true;  // past the library
  EXPECT_EQ(fault(108).pages, 0U);
  EXPECT_EQ(near(100, 110), (Pages{107, 109}));
  EXPECT_EQ(read_ahead_.came_ahead(), 1U);
}

TEST_F(ReadAheadTest, APageBeforeThatIsNotFarEndsADownwardRun) {
  send_far(105, 110);
  (void)fault(109);
  (void)fault(108);
  state_.discard_and_uncharge(105);
  EXPECT_EQ(fault(106).pages, 1U);
}

/// A stream over far pages from 0 on, so long that pages follow a fault.
class LongReadAheadTest : public ReadAheadTest {
 protected:
  explicit LongReadAheadTest(const RigOptions& options = {.limit = 4096})
      : ReadAheadTest(options) {}

  /// Faults on the first page from `next_` on that is not near, until pages are to follow one.
  void fault_in_order(PageNumber end) {
    while (next_ < end) {
      const Filled filled = fault(next_);
      ASSERT_GT(filled.pages, 0U) << next_;
      skip_near();
    }
  }
  void skip_near() {
    while (rig_.state_of(next_) == State::near) ++next_;
  }
  void bring_in_all_more() {
    while (read_ahead_.bring_in_more()) {
    }
  }

  PageNumber next_ = 0;
};

TEST_F(LongReadAheadTest, PagesFollowAFaultWhileItsThreadGoesOn) {
  send_far(0, 256);
  fault_in_order(64);
  const std::uint64_t ahead = read_ahead_.came_ahead();
  const PageNumber came = next_;
  bring_in_all_more();
  skip_near();
  EXPECT_GT(next_, came);
  EXPECT_EQ(read_ahead_.came_ahead(), ahead + next_ - came);
  for (PageNumber page = came; page < next_; ++page) EXPECT_EQ(rig_.word(page), word_of(page));
}

TEST_F(LongReadAheadTest, NoPageFollowsBeyondOneThatIsNotFar) {
  send_far(0, 256);
  fault_in_order(64);
  state_.discard_and_uncharge(next_);
  EXPECT_TRUE(read_ahead_.bring_in_more());
  EXPECT_FALSE(read_ahead_.bring_in_more());
  EXPECT_EQ(rig_.state_of(next_), State::fresh);
  EXPECT_EQ(rig_.state_of(next_ + 1), State::far);
}

TEST_F(LongReadAheadTest, NoPageFollowsBeyondTheRegion) {
  const PageNumber end = state_.end_page();
  next_ = end - 150;
  send_far(next_, end);
  fault_in_order(end - 80);
  bring_in_all_more();
  EXPECT_EQ(near(end - 150, end).size(), next_ - (end - 150) + near(next_, end).size());
  while (rig_.state_of(end - 1) != State::near) {
    skip_near();
    ASSERT_GT(fault(next_).pages, 0U);
    bring_in_all_more();
  }
  EXPECT_EQ(near(end - 150, end).size(), 150U);
}

TEST_F(LongReadAheadTest, PagesThatFollowStayAwayWhereThereIsNoRoom) {
  send_far(0, 256);
  fault_in_order(64);
  state_.budget.charge(state_.budget.free());
  EXPECT_TRUE(read_ahead_.bring_in_more());
  EXPECT_EQ(rig_.state_of(next_), State::far);
  EXPECT_FALSE(read_ahead_.bring_in_more());
}

TEST_F(LongReadAheadTest, NoPageFollowsWhereFaultsAreSignals) {
  state_.faults_as = os::Faults::signal;
  send_far(0, 256);
  fault_in_order(128);
  EXPECT_FALSE(read_ahead_.bring_in_more());
}

TEST_F(LongReadAheadTest, StoppedReadAheadBringsNothingMore) {
  send_far(0, 256);
  fault_in_order(64);
  read_ahead_.stop();
  EXPECT_FALSE(read_ahead_.bring_in_more());
}

/// A stream that runs into a group which has left as one.
class ReadAheadIntoGroup : public LongReadAheadTest {
 protected:
  ReadAheadIntoGroup() : LongReadAheadTest({.pages = 8192, .limit = 16384}) {
    for (PageNumber page = 512; page < 1024; ++page) rig_.bring_in(page, word_of(page));
    rig_.pages().each(rig_.place(512), huge_bytes, [](FakePages::Info& page) { page.huge = true; });
    rig_.parts.huge.mark_whole(512);
    EXPECT_EQ(rig_.parts.eviction.evict(), huge_pages);
    rig_.parts.eviction.drain_all();
    send_far(0, 512);
    fault_in_order(512);
    EXPECT_EQ(next_, 512U);
    EXPECT_TRUE(rig_.parts.incoming.is_expected(512));
  }
};

TEST_F(ReadAheadIntoGroup, BringsItInAsOne) {
  const std::uint64_t charged = rig_.charged();
  EXPECT_EQ(fault(512).pages, huge_pages);
  EXPECT_EQ(rig_.charged(), charged + huge_pages);
  EXPECT_EQ(rig_.count(Count::huge_ins), 1U);
  EXPECT_EQ(rig_.count(Count::ready_ins), 0U);
  EXPECT_TRUE(rig_.parts.huge.leaves_whole(512));
  EXPECT_EQ(rig_.word(1023), word_of(1023));
}

TEST_F(ReadAheadIntoGroup, FindsItReadyIfThereWasTimeToReadIt) {
  bring_in_all_more();
  EXPECT_EQ(fault(512).pages, huge_pages);
  EXPECT_EQ(rig_.count(Count::ready_ins), 1U);
}

TEST_F(ReadAheadIntoGroup, MakesRoomForIt) {
  state_.budget.charge(state_.budget.free());
  EXPECT_EQ(fault(512).pages, huge_pages);
  EXPECT_LE(rig_.charged(), state_.budget.limit());
  EXPECT_GT(rig_.count(Count::evictions), 2 * huge_pages);
}

TEST_F(ReadAheadIntoGroup, BringsItsFirstPagesWhereThereIsNoRoomForAll) {
  for (PageNumber page = 0; page < 512; ++page)
    rig_.pages()[rig_.place(page)].refuses_move = -EBUSY;
  state_.budget.charge(state_.budget.free());
  const Filled filled = fault(512);
  EXPECT_GT(filled.pages, 0U);
  EXPECT_LT(filled.pages, huge_pages);
  EXPECT_EQ(rig_.word(512), word_of(512));
  EXPECT_EQ(rig_.count(Count::huge_ins), 0U);
  EXPECT_GT(rig_.count(Count::over_budget), 0U);
}

TEST_F(ReadAheadIntoGroup, WaitsWhileAChangeHasNotBeenRead) {
  rig_.pages().changing = true;
  EXPECT_TRUE(fault(512).retry);
  EXPECT_EQ(rig_.state_of(512), State::far);
  rig_.pages().changing = false;
  EXPECT_EQ(fault(512).pages, huge_pages);
}

TEST_F(ReadAheadIntoGroup, BringsItPageByPageWhereTheKernelHasNoHugePage) {
  rig_.memory().huge_pages = false;
  const std::uint64_t charged = rig_.charged();
  const Filled filled = fault(512);
  EXPECT_GT(filled.pages, 0U);
  EXPECT_LE(filled.pages, longest_run);
  EXPECT_EQ(rig_.charged(), charged + filled.pages);
  EXPECT_EQ(rig_.word(512), word_of(512));
  EXPECT_FALSE(rig_.parts.huge.leaves_whole(512));
}

TEST_F(ReadAheadIntoGroup, BringsItPageByPageIfAPageOfItIsGone) {
  state_.discard_and_uncharge(700);
  const Filled filled = fault(512);
  EXPECT_GT(filled.pages, 0U);
  EXPECT_LE(filled.pages, longest_run);
  EXPECT_EQ(rig_.count(Count::huge_ins), 0U);
}

}  // namespace test_file
}  // namespace nearfar::tier

// What the library does to ranges of managed memory: other mappings over them, and mremap.

#include "tier/pager/ranges.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

Ranges ranges_of(Parts& parts) {
  return {parts.state,
          {parts.remap, parts.eviction, parts.huge, parts.incoming, parts.windows, parts.page_in,
           parts.zeros}};
}

class RangesTest : public testing::Test {
 protected:
  /// Moves `count` pages from the first to a page that is not used.
  Outcome move(PageNumber from, PageNumber to, std::size_t count = 1) {
    return ranges_.move(rig_.place(from), rig_.place(to), count * os::page_bytes, passed_);
  }

  PartsRig rig_{{.pages = 16384, .limit = 256}};
  Remap& remap_ = rig_.parts.remap;
  Ranges ranges_ = ranges_of(rig_.parts);
  PageNumber passed_ = 0;
};

TEST_F(RangesTest, ARangeIsCoveredAndUncovered) {
  rig_.bring_in(0, 1);
  EXPECT_TRUE(ranges_.cover(rig_.place(0), rig_.place(8)));
  EXPECT_FALSE(remap_.manages(rig_.place(0)));
  EXPECT_FALSE(rig_.pages().at(rig_.place(0)).registered);
  ranges_.uncover(rig_.place(0), rig_.place(8));
  EXPECT_TRUE(remap_.manages(rig_.place(0)));
  EXPECT_TRUE(rig_.pages().at(rig_.place(0)).registered);
  EXPECT_FALSE(remap_.has_unmanaged());
}

TEST_F(RangesTest, ReleasedPagesKeepTheirContentsAndAreManagedNoMore) {
  rig_.bring_in(0, 10);
  rig_.send_far(1, 11);
  rig_.bring_in(2, 12);
  ASSERT_TRUE(rig_.parts.eviction.displace(2));
  EXPECT_EQ(ranges_.release(rig_.place(0), rig_.place(4)), Outcome::yes);
  for (PageNumber page = 0; page < 3; ++page) {
    EXPECT_TRUE(rig_.pages().at(rig_.place(page)).present);
    EXPECT_EQ(rig_.word(page), 10U + page);
    EXPECT_EQ(rig_.state_of(page), State::fresh);
  }
  EXPECT_FALSE(remap_.manages(rig_.place(0)));
  EXPECT_FALSE(rig_.pages().at(rig_.place(3)).registered);
  EXPECT_EQ(rig_.parts.state.budget.member().managed_pages.load(), 0U);
}

TEST_F(RangesTest, ReleasesLeaveRoomForWhatMustNotBeRefused) {
  PageNumber page = 0;
  while (page < 16384 && ranges_.release(rig_.place(page), rig_.place(page + 1)) == Outcome::yes)
    page += 2;
  EXPECT_EQ(page / 2, rig_.parts.state.unmanaged.capacity() / 2);
  EXPECT_TRUE(remap_.manages(rig_.place(page)));
  EXPECT_TRUE(ranges_.cover(rig_.place(page + 2), rig_.place(page + 3)));
}

TEST_F(RangesTest, AReleaseIsAskedForAgainWhileAChangeHasNotBeenRead) {
  rig_.send_far(1, 11);
  rig_.pages().changing = true;
  EXPECT_EQ(ranges_.release(rig_.place(0), rig_.place(4)), Outcome::later);
  rig_.pages().changing = false;
  EXPECT_EQ(ranges_.release(rig_.place(0), rig_.place(4)), Outcome::yes);
  EXPECT_EQ(rig_.word(1), 11U);
}

TEST_F(RangesTest, ContentsMoveToUnusedPagesWhereverTheyAre) {
  rig_.bring_in(0, 10);
  rig_.send_far(1, 11);
  rig_.bring_in(2, 12);
  ASSERT_TRUE(rig_.parts.eviction.displace(2));
  rig_.bring_in(3, 13);
  rig_.pages()[rig_.place(3)].refuses_move = -EBUSY;  // copied
  rig_.bring_in(101);                                 // zeros of a neighbour's read-ahead
  PageNumber passed = 0;
  EXPECT_EQ(ranges_.move(rig_.place(0), rig_.place(100), 4 * os::page_bytes, passed), Outcome::yes);
  EXPECT_EQ(rig_.word(100), 10U);
  EXPECT_EQ(rig_.state_of(101), State::far);
  EXPECT_EQ(rig_.state_of(102), State::limbo);
  EXPECT_EQ(rig_.word(103), 13U);
  for (PageNumber page = 0; page < 4; ++page) EXPECT_EQ(rig_.state_of(page), State::fresh);
}

TEST_F(RangesTest, AMoveIsAskedForAgainWhileAChangeHasNotBeenRead) {
  rig_.bring_in(0, 10);
  rig_.pages().changing = true;
  PageNumber passed = 0;
  EXPECT_EQ(ranges_.move(rig_.place(0), rig_.place(100), os::page_bytes, passed), Outcome::later);
  rig_.pages().changing = false;
  EXPECT_EQ(ranges_.move(rig_.place(0), rig_.place(100), os::page_bytes, passed), Outcome::yes);
  EXPECT_EQ(rig_.word(100), 10U);
}

TEST_F(RangesTest, NothingMovesOutOfARangeThatIsCovered) {
  ASSERT_TRUE(ranges_.cover(rig_.place(0), rig_.place(1)));
  PageNumber passed = 0;
  EXPECT_EQ(ranges_.move(rig_.place(0), rig_.place(100), os::page_bytes, passed), Outcome::no);
}

TEST(RangesByCopy, MovePagesThatTheKernelDoesNotMove) {
  PartsRig rig({.limit = 256, .eviction = os::Eviction::copy});
  Ranges ranges = ranges_of(rig.parts);
  rig.bring_in(0, 10);
  rig.bring_in(1, 11);
  rig.memory().advise(rig.place(1), os::page_bytes, MADV_DONTNEED);
  PageNumber passed = 0;
  EXPECT_EQ(ranges.move(rig.place(0), rig.place(100), 2 * os::page_bytes, passed), Outcome::yes);
  EXPECT_EQ(rig.word(100), 10U);
  EXPECT_EQ(rig.state_of(101), State::fresh);
}

TEST_F(RangesTest, OnlyTheUncoveredPartIsManagedAgain) {
  EXPECT_TRUE(ranges_.cover(rig_.place(0), rig_.place(8)));
  EXPECT_TRUE(ranges_.cover(rig_.place(16), rig_.place(24)));
  ranges_.uncover(rig_.place(4), rig_.place(20));
  EXPECT_FALSE(remap_.manages(rig_.place(3)));
  EXPECT_TRUE(remap_.manages(rig_.place(4)));
  EXPECT_TRUE(remap_.manages(rig_.place(19)));
  EXPECT_FALSE(remap_.manages(rig_.place(20)));
  EXPECT_TRUE(remap_.has_unmanaged());
}

TEST_F(RangesTest, NothingIsCoveredWhereThereAreTooManyOtherMappings) {
  rig_.bring_in(16000, 7);
  PageNumber page = 0;
  while (rig_.parts.state.add_unmanaged(rig_.place(page), rig_.place(page + 1))) page += 2;
  EXPECT_EQ(page, 2 * 4096U);
  EXPECT_FALSE(ranges_.cover(rig_.place(16000), rig_.place(16001)));
  EXPECT_TRUE(remap_.manages(rig_.place(16000)));
  EXPECT_EQ(rig_.state_of(16000), State::near);
  EXPECT_TRUE(rig_.pages().at(rig_.place(16000)).registered);
}

TEST_F(RangesTest, MemoryThatCannotBeWatchedAgainEndsTheProgram) {
  EXPECT_TRUE(ranges_.cover(rig_.place(0), rig_.place(8)));
  rig_.pages().register_error = -ENOMEM;
  EXPECT_EXIT(ranges_.uncover(rig_.place(0), rig_.place(8)), ::testing::ExitedWithCode(1),
              "the memory cannot be watched");
}

TEST_F(RangesTest, APageThatTheProgramHasDroppedLeavesNothingToMove) {
  rig_.bring_in(0, 10);
  rig_.memory().advise(rig_.place(0), os::page_bytes, MADV_DONTNEED);
  EXPECT_EQ(move(0, 100), Outcome::yes);
  EXPECT_EQ(rig_.state_of(0), State::fresh);
  EXPECT_EQ(rig_.state_of(100), State::fresh);
}

TEST_F(RangesTest, ZerosInLimboGiveWayToWhatMoves) {
  rig_.bring_in(0, 10);
  rig_.bring_in(100);
  ASSERT_TRUE(rig_.parts.eviction.displace(100));
  const std::uint64_t charged = rig_.charged();
  EXPECT_EQ(move(0, 100), Outcome::yes);
  EXPECT_EQ(rig_.word(100), 10U);
  EXPECT_EQ(rig_.charged(), charged - 1);
  EXPECT_EQ(rig_.parts.state.limbo.pages(), 0U);
}

TEST_F(RangesTest, AMoveWaitsForZerosThatCannotLeaveAndGoesOnWhereItWas) {
  rig_.bring_in(0, 10);
  rig_.bring_in(1, 11);
  rig_.bring_in(101);
  rig_.pages()[rig_.place(101)].refuses_move = -EBUSY;
  EXPECT_EQ(move(0, 100, 2), Outcome::later);
  EXPECT_EQ(passed_, 1U);
  EXPECT_EQ(rig_.word(100), 10U);
  EXPECT_EQ(rig_.state_of(101), State::near);
  rig_.pages()[rig_.place(101)].refuses_move = 0;
  rig_.bring_in(0);  // zeros of a neighbour's read-ahead, where contents were
  EXPECT_EQ(move(0, 100, 2), Outcome::yes);
  EXPECT_EQ(rig_.word(100), 10U);
  EXPECT_EQ(rig_.word(101), 11U);
}

TEST(RangesByCopy, WaitWhileAChangeHasNotBeenRead) {
  PartsRig rig({.limit = 256, .eviction = os::Eviction::copy});
  Ranges ranges = ranges_of(rig.parts);
  rig.bring_in(0, 10);
  rig.pages().changing = true;
  PageNumber passed = 0;
  EXPECT_EQ(ranges.move(rig.place(0), rig.place(100), os::page_bytes, passed), Outcome::later);
  EXPECT_EQ(rig.state_of(0), State::near);
  rig.pages().changing = false;
  EXPECT_EQ(ranges.move(rig.place(0), rig.place(100), os::page_bytes, passed), Outcome::yes);
  EXPECT_EQ(rig.word(100), 10U);
  EXPECT_FALSE(rig.pages().at(rig.place(0)).present);
}

TEST(RangesByCopy, EndTheProgramRatherThanLoseAPage) {
  PartsRig rig({.limit = 256, .eviction = os::Eviction::copy});
  Ranges ranges = ranges_of(rig.parts);
  rig.bring_in(0, 10);
  rig.pages()[rig.place(100)].registered = false;
  PageNumber passed = 0;
  EXPECT_EXIT((void)ranges.move(rig.place(0), rig.place(100), os::page_bytes, passed),
              ::testing::ExitedWithCode(1), "mremap lost a page");
}

}  // namespace test_file
}  // namespace nearfar::tier

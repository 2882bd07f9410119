// Groups of 2 MiB that have left as one, and come back as one or page by page.

#include <gtest/gtest.h>

#include "huge_groups_fixture.h"

namespace nearfar::tier {
namespace test_file {

class IncomingHugeGroups : public HugeGroups {};

TEST_F(IncomingHugeGroups, AGroupThatWasReadBeforeItsTouchComesBackAsOne) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  EXPECT_TRUE(may_be_huge(512));
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  EXPECT_EQ(rig_.charged(), charged + huge_pages);
  const IncomingGroups::Arrived arrived = bring_in(512);
  EXPECT_EQ(arrived.pages, huge_pages);
  EXPECT_TRUE(arrived.as_one);
  EXPECT_TRUE(arrived.was_read);
  EXPECT_EQ(rig_.charged(), charged + huge_pages);
  expect_contents(512, huge_pages);
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_FALSE(may_be_huge(512));
}

TEST_F(IncomingHugeGroups, AGroupThatWasNotReadBeforeItsTouchIsReadThen) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const IncomingGroups::Arrived arrived = bring_in(512);
  EXPECT_TRUE(arrived.as_one);
  EXPECT_FALSE(arrived.was_read);
  expect_contents(512, huge_pages);
}

TEST_F(IncomingHugeGroups, AGroupComesPageByPageWhereTheKernelHasNoHugePageForIt) {
  send_whole_far(512);
  rig_.memory().huge_pages = false;
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  EXPECT_FALSE(incoming_.read_expected());
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_EQ(bring_in(512).pages, 0U);
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_FALSE(incoming_.comes_whole(512));
  EXPECT_EQ(rig_.state_of(512), State::far);
}

TEST_F(IncomingHugeGroups, AGroupWaitsWhileAChangeHasNotBeenRead) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  read_all_expected();
  rig_.pages().changing = true;
  EXPECT_TRUE(bring_in(512).retry);
  EXPECT_TRUE(incoming_.is_expected(512));
  rig_.pages().changing = false;
  EXPECT_TRUE(bring_in(512).as_one);
}

TEST_F(IncomingHugeGroups, OfAGroupThatMovesInPartOnlyWhatCameStaysCharged) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  rig_.pages().before_move = [this](os::Place, os::Place from) {
    rig_.pages()[from + 100 * os::page_bytes].refuses_move = -EBUSY;
  };
  const IncomingGroups::Arrived arrived = bring_in(512);
  EXPECT_EQ(arrived.pages, 100U);
  EXPECT_FALSE(arrived.as_one);
  EXPECT_EQ(rig_.charged(), charged + 100);
  expect_contents(512, 100);
}

TEST_F(IncomingHugeGroups, OfAGroupThatMovesInPartAPageThatTheKernelDoesNotCountHasCome) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  rig_.pages().before_move = [this](os::Place, os::Place from) {
    rig_.pages()[from + 100 * os::page_bytes].uncounted = true;
  };
  EXPECT_EQ(bring_in(512).pages, 101U);
  EXPECT_EQ(rig_.charged(), charged + 101);
  expect_contents(512, 101);
}

TEST_F(IncomingHugeGroups, AGroupThatHasLostAPageDoesNotComeAsOne) {
  send_whole_far(512);
  state_.discard_and_uncharge(700);
  EXPECT_FALSE(incoming_.comes_whole(512));
  EXPECT_FALSE(incoming_.comes_whole(700));
}

TEST_F(IncomingHugeGroups, AGroupThatIsReadIsDroppedWhenAPageOfItComesByItself) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  rig_.parts.arrivals.arrive(600);
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_FALSE(incoming_.comes_whole(512));
  EXPECT_FALSE(incoming_.read_expected());
}

TEST_F(IncomingHugeGroups, AStreamExpectsAGroupOnlyIfAllBeforeItIsInRam) {
  send_whole_far(512);
  rig_.bring_in(510);
  incoming_.expect_next(510, 0);
  EXPECT_FALSE(incoming_.is_expected(512)) << "511 is fresh";
  rig_.bring_in(511);
  incoming_.expect_next(510, 0);
  EXPECT_TRUE(incoming_.is_expected(512));
}

TEST_F(IncomingHugeGroups, TheGroupExpectedLongestGivesWayToAnother) {
  for (PageNumber i = 0; i < ExpectedGroups::most; ++i) incoming_.expect(i * huge_pages, 0);
  EXPECT_TRUE(incoming_.is_expected(0));
  incoming_.expect(15 * huge_pages, 0);
  EXPECT_TRUE(incoming_.is_expected(15 * huge_pages));
  EXPECT_FALSE(incoming_.is_expected(0));
  EXPECT_FALSE(may_be_huge(0));
  EXPECT_TRUE(may_be_huge(huge_pages));
}

TEST_F(IncomingHugeGroups, AnotherMappingKeepsWhatTheKernelWasAdvised) {
  incoming_.expect(512, 0);
  ASSERT_TRUE(state_.add_unmanaged(rig_.place(600), rig_.place(601)));
  for (PageNumber i = 2; i < 2 + ExpectedGroups::most; ++i) incoming_.expect(i * huge_pages, 0);
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_TRUE(may_be_huge(512));
}

TEST_F(IncomingHugeGroups, AGroupInAWindowIsExpectedNoMoreButKeepsItsAdvice) {
  incoming_.expect(512, 0);
  incoming_.leave_to_window(512);
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_TRUE(may_be_huge(512));
  incoming_.leave_to_window(512);  // not expected any more: nothing to do
  EXPECT_FALSE(incoming_.expects_any());
}

TEST_F(IncomingHugeGroups, AGroupThatNoStreamRunsIntoForManyFaultsIsGivenUp) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  state_.faults += 4096;
  EXPECT_FALSE(incoming_.expect_old_no_more());
  ++state_.faults;
  EXPECT_EQ(eviction_.evict(), 1U);  // which makes room
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_EQ(rig_.charged(), charged);
}

TEST_F(IncomingHugeGroups, ReadGroupsAreGivenUpWhereNothingElseLeaves) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  EXPECT_EQ(eviction_.evict(), 1U);
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_TRUE(incoming_.is_expected(512));
  EXPECT_EQ(eviction_.evict(), 0U);
}

TEST_F(IncomingHugeGroups, NoGroupIsReadBeyondAnEighthOfNearMemory) {
  const std::uint64_t most = state_.budget.limit() / 8 / huge_pages;
  for (PageNumber i = 0; i <= most; ++i) send_whole_far(i * huge_pages);
  for (PageNumber i = 0; i <= most; ++i) incoming_.expect(i * huge_pages, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  EXPECT_EQ(rig_.charged(), charged + most * huge_pages);
}

TEST_F(IncomingHugeGroups, NoGroupIsReadWhereNearMemoryIsFull) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  state_.budget.charge(state_.budget.free() - huge_pages + 1);
  EXPECT_FALSE(incoming_.read_expected());
  state_.budget.release(1);
  EXPECT_TRUE(incoming_.read_expected());
}

TEST_F(IncomingHugeGroups, NoGroupIsReadAheadWhereFaultsAreSignals) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  state_.faults_as = os::Faults::signal;
  EXPECT_FALSE(incoming_.read_expected());
}

TEST_F(IncomingHugeGroups, BehindAGroupThatIsReadTheNextIsExpected) {
  send_whole_far(512);
  send_whole_far(1024);
  incoming_.expect(512, 1);
  read_all_expected();
  EXPECT_TRUE(incoming_.is_expected(1024));
  EXPECT_FALSE(incoming_.is_expected(1536));
}

TEST_F(IncomingHugeGroups, BehindTheFirstGroupOfAStreamNoneIsExpectedYet) {
  send_whole_far(512);
  send_whole_far(1024);
  incoming_.expect(512, 0);
  read_all_expected();
  EXPECT_FALSE(incoming_.is_expected(1024));
}

TEST_F(IncomingHugeGroups, WhatLiesBehindAGroupIsLookedAtNowAndThen) {
  send_whole_far(512);
  state_.faults = 100;
  incoming_.expect(512, 1);
  read_all_expected();
  send_whole_far(1024);
  state_.faults = 131;
  read_all_expected();
  EXPECT_FALSE(incoming_.is_expected(1024));
  state_.faults = 132;
  read_all_expected();
  EXPECT_TRUE(incoming_.is_expected(1024));
}

}  // namespace test_file
}  // namespace nearfar::tier

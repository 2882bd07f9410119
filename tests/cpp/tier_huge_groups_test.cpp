// Groups of 2 MiB that leave and come back as one, and what makes one of small pages.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

using Kind = FakePages::Call::Kind;

constexpr std::uint64_t word_of(PageNumber page) { return 1000 + std::uint64_t{page}; }

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

TEST_F(HugeGroups, AGroupThatThePolicyHasNamedInFullLeavesByOneMove) {
  bring_in_whole(512);
  rig_.pages().records = true;
  EXPECT_EQ(eviction_.evict(), huge_pages);
  EXPECT_EQ(rig_.pages().count(Kind::move), 1U);
  EXPECT_EQ(rig_.count(Count::huge_moves), 1U);
  EXPECT_TRUE(huge_.is_whole_in_limbo(state_.limbo.oldest()));
  const std::uint64_t charged = rig_.charged();
  EXPECT_EQ(eviction_.drain(64), huge_pages);
  EXPECT_EQ(rig_.charged(), charged - huge_pages);
  EXPECT_EQ(eviction_.drain(64), 0U);
}

TEST_F(HugeGroups, AGroupThatWasReadBeforeItsTouchComesBackAsOne) {
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

TEST_F(HugeGroups, AGroupThatWasNotReadBeforeItsTouchIsReadThen) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const IncomingGroups::Arrived arrived = bring_in(512);
  EXPECT_TRUE(arrived.as_one);
  EXPECT_FALSE(arrived.was_read);
  expect_contents(512, huge_pages);
}

TEST_F(HugeGroups, AGroupComesPageByPageWhereTheKernelHasNoHugePageForIt) {
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

TEST_F(HugeGroups, AGroupWaitsWhileAChangeHasNotBeenRead) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  read_all_expected();
  rig_.pages().changing = true;
  EXPECT_TRUE(bring_in(512).retry);
  EXPECT_TRUE(incoming_.is_expected(512));
  rig_.pages().changing = false;
  EXPECT_TRUE(bring_in(512).as_one);
}

TEST_F(HugeGroups, OfAGroupThatMovesInPartOnlyWhatCameStaysCharged) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  rig_.pages()[rig_.place(612)].present = true;  // the program has put something there itself
  const IncomingGroups::Arrived arrived = bring_in(512);
  EXPECT_EQ(arrived.pages, 100U);
  EXPECT_FALSE(arrived.as_one);
  EXPECT_EQ(rig_.charged(), charged + 100);
  expect_contents(512, 100);
}

TEST_F(HugeGroups, AGroupThatHasLostAPageDoesNotComeAsOne) {
  send_whole_far(512);
  state_.discard_and_uncharge(700);
  EXPECT_FALSE(incoming_.comes_whole(512));
  EXPECT_FALSE(incoming_.comes_whole(700));
}

TEST_F(HugeGroups, AGroupThatIsReadIsDroppedWhenAPageOfItComesByItself) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  rig_.parts.arrivals.arrive(600);
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_FALSE(incoming_.comes_whole(512));
  EXPECT_FALSE(incoming_.read_expected());
}

TEST_F(HugeGroups, AStreamExpectsAGroupOnlyIfAllBeforeItIsInRam) {
  send_whole_far(512);
  rig_.bring_in(510);
  incoming_.expect_next(510, 0);
  EXPECT_FALSE(incoming_.is_expected(512)) << "511 is fresh";
  rig_.bring_in(511);
  incoming_.expect_next(510, 0);
  EXPECT_TRUE(incoming_.is_expected(512));
}

TEST_F(HugeGroups, TheGroupExpectedLongestGivesWayToAnother) {
  for (PageNumber i = 0; i < ExpectedGroups::most; ++i) incoming_.expect(i * huge_pages, 0);
  EXPECT_TRUE(incoming_.is_expected(0));
  incoming_.expect(15 * huge_pages, 0);
  EXPECT_TRUE(incoming_.is_expected(15 * huge_pages));
  EXPECT_FALSE(incoming_.is_expected(0));
  EXPECT_FALSE(may_be_huge(0));
  EXPECT_TRUE(may_be_huge(huge_pages));
}

TEST_F(HugeGroups, AnotherMappingKeepsWhatTheKernelWasAdvised) {
  incoming_.expect(512, 0);
  ASSERT_TRUE(state_.add_unmanaged(rig_.place(600), rig_.place(601)));
  for (PageNumber i = 2; i < 2 + ExpectedGroups::most; ++i) incoming_.expect(i * huge_pages, 0);
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_TRUE(may_be_huge(512));
}

TEST_F(HugeGroups, AGroupInAWindowIsExpectedNoMoreButKeepsItsAdvice) {
  incoming_.expect(512, 0);
  incoming_.leave_to_window(512);
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_TRUE(may_be_huge(512));
  incoming_.leave_to_window(512);  // not expected any more: nothing to do
  EXPECT_FALSE(incoming_.expects_any());
}

TEST_F(HugeGroups, AGroupThatNoStreamRunsIntoForManyFaultsIsGivenUp) {
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

TEST_F(HugeGroups, ReadGroupsAreGivenUpWhereNothingElseLeaves) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  EXPECT_EQ(eviction_.evict(), 1U);
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_TRUE(incoming_.is_expected(512));
  EXPECT_EQ(eviction_.evict(), 0U);
}

TEST_F(HugeGroups, NoGroupIsReadBeyondAnEighthOfNearMemory) {
  const std::uint64_t most = state_.budget.limit() / 8 / huge_pages;
  for (PageNumber i = 0; i <= most; ++i) send_whole_far(i * huge_pages);
  for (PageNumber i = 0; i <= most; ++i) incoming_.expect(i * huge_pages, 0);
  const std::uint64_t charged = rig_.charged();
  read_all_expected();
  EXPECT_EQ(rig_.charged(), charged + most * huge_pages);
}

TEST_F(HugeGroups, NoGroupIsReadWhereNearMemoryIsFull) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  state_.budget.charge(state_.budget.free() - huge_pages + 1);
  EXPECT_FALSE(incoming_.read_expected());
  state_.budget.release(1);
  EXPECT_TRUE(incoming_.read_expected());
}

TEST_F(HugeGroups, NoGroupIsReadAheadWhereFaultsAreSignals) {
  send_whole_far(512);
  incoming_.expect(512, 0);
  state_.faults_as = os::Faults::signal;
  EXPECT_FALSE(incoming_.read_expected());
}

TEST_F(HugeGroups, BehindAGroupThatIsReadTheNextIsExpected) {
  send_whole_far(512);
  send_whole_far(1024);
  incoming_.expect(512, 1);
  read_all_expected();
  EXPECT_TRUE(incoming_.is_expected(1024));
  EXPECT_FALSE(incoming_.is_expected(1536));
}

TEST_F(HugeGroups, BehindTheFirstGroupOfAStreamNoneIsExpectedYet) {
  send_whole_far(512);
  send_whole_far(1024);
  incoming_.expect(512, 0);
  read_all_expected();
  EXPECT_FALSE(incoming_.is_expected(1024));
}

TEST_F(HugeGroups, WhatLiesBehindAGroupIsLookedAtNowAndThen) {
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

TEST_F(HugeGroups, OfAGroupOnlyPagesThatAreStillNearLeave) {
  bring_in_whole(512);
  for (std::size_t i = 0; i < huge_pages - 1; ++i)
    ASSERT_EQ(huge_.name(state_.table.evict()).first, no_page);
  state_.discard_and_uncharge(600);  // named, and gone since
  EXPECT_EQ(eviction_.evict(), huge_pages - 1);
  EXPECT_EQ(rig_.state_of(600), State::fresh);
  EXPECT_FALSE(huge_.leaves_whole(512));
  eviction_.drain_all();
  EXPECT_FALSE(incoming_.comes_whole(512));
}

TEST_F(HugeGroups, AGroupOfWhichAPageCannotLeaveDoesNotComeBackAsOne) {
  bring_in_whole(512);
  rig_.pages()[rig_.place(600)].refuses_move = -EBUSY;
  EXPECT_EQ(eviction_.evict(), huge_pages - 1);
  EXPECT_EQ(rig_.state_of(600), State::near);
  eviction_.drain_all();
  EXPECT_FALSE(incoming_.comes_whole(512));
}

TEST_F(HugeGroups, LimboIsDrainedUntilAGroupFits) {
  for (PageNumber page = 4096; page < 4096 + 700; ++page) {
    rig_.bring_in(page, word_of(page));
    ASSERT_TRUE(eviction_.displace(page));
  }
  bring_in_whole(512);
  EXPECT_EQ(eviction_.evict(), huge_pages);
  EXPECT_EQ(rig_.state_of(4096), State::far);
  EXPECT_EQ(rig_.count(Count::huge_moves), 1U);
}

TEST_F(HugeGroups, NamedPagesAreResidentAgainWhenTheyAreToStay) {
  bring_in_whole(512);
  for (int i = 0; i < 300; ++i) (void)huge_.name(state_.table.evict());
  state_.discard_and_uncharge(512);  // of the named pages, one is gone
  ASSERT_EQ(state_.table.resident(), huge_pages - 300);
  huge_.let_named_stay();
  EXPECT_EQ(state_.table.resident(), huge_pages - 1);
  EXPECT_EQ(huge_.take_oldest().first, no_page);
}

TEST_F(HugeGroups, PagesThatCameInOrderBecomeAHugePage) {
  bring_in_small(512);
  huge_.came_in_order(512, huge_pages - 1);
  EXPECT_FALSE(huge_.collapse_one()) << "not all of the group has come";
  huge_.came_in_order(1000, 24);
  const std::uint64_t charged = rig_.charged();
  EXPECT_TRUE(huge_.collapse_one());
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_EQ(rig_.count(Count::collapsed), 1U);
  EXPECT_TRUE(huge_.leaves_whole(512));
  EXPECT_TRUE(incoming_.is_huge(rig_.place(512)));
  EXPECT_FALSE(may_be_huge(512));
  huge_.came_in_order(512, huge_pages);
  EXPECT_FALSE(huge_.collapse_one()) << "it is one already";
}

TEST_F(HugeGroups, ProtectedPagesAreUnprotectedBeforeTheyBecomeAHugePage) {
  bring_in_small(512);
  rig_.entry(600).write_protected = true;
  rig_.pages()[rig_.place(600)].write_protected = true;
  huge_.came_in_order(512, huge_pages);
  EXPECT_TRUE(huge_.collapse_one());
  EXPECT_FALSE(rig_.entry(600).write_protected);
  EXPECT_FALSE(rig_.pages().at(rig_.place(600)).write_protected);
}

TEST_F(HugeGroups, ProtectionIsNotedUntilItCouldBeTakenAway) {
  bring_in_small(512);
  rig_.entry(600).write_protected = true;
  rig_.pages()[rig_.place(600)].write_protected = true;
  rig_.pages().changing = true;
  huge_.came_in_order(512, huge_pages);
  (void)huge_.collapse_one();
  EXPECT_TRUE(rig_.entry(600).write_protected);
}

TEST_F(HugeGroups, AGroupStaysInSmallPagesWhereItCannotBecomeOne) {
  bring_in_small(512);
  const auto collapses = [this] {
    huge_.came_in_order(512, huge_pages);
    return huge_.collapse_one();
  };
  state_.has_huge_pages = false;
  EXPECT_FALSE(collapses());
  state_.has_huge_pages = true;
  state_.has_forked = true;
  EXPECT_FALSE(collapses());
  state_.has_forked = false;
  const std::uint64_t kept = state_.budget.free() - huge_pages + 1;
  state_.budget.charge(kept);
  EXPECT_FALSE(collapses()) << "no memory for a copy";
  state_.budget.release(kept);
  rig_.memory().huge_pages = false;
  const std::uint64_t charged = rig_.charged();
  EXPECT_FALSE(collapses()) << "the kernel has none";
  EXPECT_EQ(rig_.charged(), charged);
  rig_.memory().huge_pages = true;
  ASSERT_TRUE(eviction_.displace(600));
  EXPECT_FALSE(collapses()) << "a page is in limbo";
  EXPECT_EQ(rig_.parts.page_in.take_back(600, os::Waking::at_once).pages, 1U);
  ASSERT_TRUE(state_.add_unmanaged(rig_.place(700), rig_.place(701)));
  EXPECT_FALSE(collapses()) << "another mapping lies there";
  EXPECT_EQ(rig_.count(Count::collapsed), 0U);
}

/// Near memory so large that groups which leave give their memory to groups that come.
class RecycledHugeGroups : public HugeGroups {
 protected:
  RecycledHugeGroups() : HugeGroups(32768) { send_whole_far(512); }

  /// Another group leaves, and is written.
  void another_leaves(PageNumber first) {
    bring_in_whole(first);
    EXPECT_EQ(eviction_.evict(), huge_pages);
    eviction_.drain_all();
    EXPECT_EQ(rig_.state_of(first), State::far);
  }
};

TEST_F(RecycledHugeGroups, TheMemoryOfAGroupThatHasLeftIsForTheNextThatIsRead) {
  incoming_.expect(512, 0);
  const std::uint64_t charged = rig_.charged();
  another_leaves(2048);
  EXPECT_TRUE(incoming_.has_recycled());
  const std::uint64_t table = 2;  // of the other group's entries
  EXPECT_EQ(rig_.charged(), charged + table + huge_pages);
  read_all_expected();
  EXPECT_FALSE(incoming_.has_recycled());
  EXPECT_EQ(rig_.count(Count::recycled_ins), 1U);
  EXPECT_TRUE(bring_in(512).as_one);
  EXPECT_EQ(rig_.charged(), charged + table + huge_pages);
  expect_contents(512, huge_pages);
}

TEST_F(RecycledHugeGroups, RecycledMemoryIsTheFirstToBeGivenUp) {
  incoming_.expect(512, 0);
  another_leaves(2048);
  bring_in_small(4096);
  const std::uint64_t evictions = rig_.count(Count::evictions);
  state_.budget.charge(state_.budget.free());
  EXPECT_TRUE(eviction_.reserve(huge_pages));
  EXPECT_FALSE(incoming_.has_recycled());
  EXPECT_EQ(rig_.count(Count::evictions), evictions);
  EXPECT_EQ(state_.budget.free(), 0U);
}

TEST_F(RecycledHugeGroups, RecycledMemoryCountsAsFreeInTheBackground) {
  incoming_.expect(512, 0);
  another_leaves(2048);
  bring_in_small(4096);
  state_.budget.charge(state_.budget.free() - state_.low_watermark() + huge_pages);
  EXPECT_FALSE(eviction_.evict_in_background());
  EXPECT_TRUE(incoming_.drop_recycled());
  state_.budget.charge(huge_pages);
  EXPECT_TRUE(eviction_.evict_in_background());
}

TEST_F(RecycledHugeGroups, AllThatWasReadIsGivenUpWithWhatWaits) {
  incoming_.expect(512, 0);
  read_all_expected();
  another_leaves(2048);
  ASSERT_TRUE(incoming_.has_recycled());
  const std::uint64_t charged = rig_.charged();
  EXPECT_TRUE(incoming_.drop_all_read());
  EXPECT_EQ(rig_.charged(), charged - 2 * huge_pages);
  EXPECT_FALSE(incoming_.drop_all_read());
}

TEST_F(RecycledHugeGroups, OneGroupsMemoryWaitsAtATime) {
  incoming_.expect(512, 0);
  another_leaves(2048);
  const std::uint64_t charged = rig_.charged();
  another_leaves(3072);
  EXPECT_EQ(rig_.charged(), charged + 2);  // the other group's entries
}

TEST_F(RecycledHugeGroups, MemoryIsFreedWhereNoGroupIsExpected) {
  another_leaves(2048);
  EXPECT_FALSE(incoming_.has_recycled());
}

TEST_F(RecycledHugeGroups, MemoryIsFreedWhereOtherProcessesCouldUseIt) {
  incoming_.expect(512, 0);
  rig_.control().near_total.fetch_add(1);
  another_leaves(2048);
  EXPECT_FALSE(incoming_.has_recycled());
  rig_.control().near_total.fetch_sub(1);
}

TEST_F(RecycledHugeGroups, MemoryIsFreedWhereAllIsToStayNear) {
  incoming_.expect(512, 0);
  state_.keeps_near = true;
  another_leaves(2048);
  EXPECT_FALSE(incoming_.has_recycled());
}

TEST_F(RecycledHugeGroups, MemoryThatIsNoLongerOneHugePageIsFreed) {
  incoming_.expect(512, 0);
  bring_in_whole(2048);
  EXPECT_EQ(eviction_.evict(), huge_pages);
  const std::size_t position = state_.limbo.oldest();
  rig_.pages()[state_.staged(position + 7)].huge = false;  // split since it came
  eviction_.drain_all();
  EXPECT_FALSE(incoming_.has_recycled());
  EXPECT_EQ(state_.limbo.pages(), 0U);
  EXPECT_EQ(rig_.state_of(2048), State::far);
}

TEST_F(RecycledHugeGroups, MemoryThatTheKernelDoesNotMoveIsFreed) {
  incoming_.expect(512, 0);
  bring_in_whole(2048);
  EXPECT_EQ(eviction_.evict(), huge_pages);
  const std::uint64_t charged = rig_.charged();
  rig_.pages()[state_.staged(state_.limbo.oldest())].refuses_move = -EBUSY;
  eviction_.drain_all();
  EXPECT_FALSE(incoming_.has_recycled());
  EXPECT_EQ(rig_.charged(), charged - huge_pages);
}

}  // namespace test_file
}  // namespace nearfar::tier

// Groups of 2 MiB that leave as one, and what makes one of small pages.

#include <gtest/gtest.h>

#include "huge_groups_fixture.h"

namespace nearfar::tier {
namespace test_file {

using Kind = FakePages::Call::Kind;

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
  rig_.pages()[rig_.place(600)].refuses_move = 0;
  ASSERT_TRUE(eviction_.displace(600));  // by itself, so that the kernel has a table for the group
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

TEST_F(HugeGroups, AGroupThatWasNamedUnderALargerLimitLeavesThroughASmallerLimbo) {
  bring_in_whole(512);
  for (std::size_t i = 0; i < huge_pages - 1; ++i)
    ASSERT_EQ(huge_.name(state_.table.evict()).first, no_page);
  const PageNumber gone = state_.table.evict();  // which would complete it
  state_.discard_and_uncharge(gone);
  state_.limbo = Limbo(16);
  while (eviction_.evict() != 0) {
  }
  eviction_.drain_all();
  for (PageNumber page = 512; page < 1024; ++page) {
    if (page == gone) continue;
    ASSERT_EQ(rig_.state_of(page), State::far) << page;
    ASSERT_FALSE(rig_.pages().at(rig_.place(page)).present) << page;
    ASSERT_EQ(rig_.parts.page_in.fill({.first = page, .from = State::far, .touched = page}).pages,
              1U);
    ASSERT_EQ(rig_.word(page), word_of(page));
  }
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

}  // namespace test_file
}  // namespace nearfar::tier

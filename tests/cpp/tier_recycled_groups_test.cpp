// Memory that passes from groups of 2 MiB that leave to others that come.

#include <gtest/gtest.h>

#include "huge_groups_fixture.h"

namespace nearfar::tier {
namespace test_file {

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

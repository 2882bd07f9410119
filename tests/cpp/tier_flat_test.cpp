// Two tiers that are both addressed directly: where pages lie, exchanges, and finding those in use.

#include <gtest/gtest.h>

#include "flat_rig.h"
#include "tier/pager/fork.h"
#include "tier/pager/tree_orders.h"

namespace nearfar::tier {
namespace test_file {

using policy::Detector;
using policy::Tier;

/// Pages 0 to 3 come near, the others far.
class FlatTest : public testing::Test {
 protected:
  explicit FlatTest(Detector detector = Detector::probe) : rig_(4, detector) {}
  void fill(PageNumber pages) { rig_.fill(0, pages); }
  void expect_whole(PageNumber pages) { rig_.expect_whole(0, pages); }
  [[nodiscard]] FlatPages& flat() { return *rig_.flat(); }
  [[nodiscard]] Tier tier(PageNumber page) { return rig_.tier(page); }
  [[nodiscard]] int node(PageNumber page) { return rig_.node(page); }
  [[nodiscard]] std::uint64_t near() { return rig_.near(); }
  void exchange(PageNumber promoted, PageNumber demoted) { rig_.exchange(promoted, demoted); }

  FlatRig rig_;
};

TEST_F(FlatTest, PagesComeNearUntilNearMemoryIsFullAndFarFromThenOn) {
  fill(8);
  EXPECT_EQ(near(), 4U);
  EXPECT_EQ(tier(3), Tier::near);
  EXPECT_EQ(tier(4), Tier::far);
  EXPECT_EQ(node(3), 0);
  EXPECT_EQ(node(4), 1);
  EXPECT_EQ(rig_.count(Count::near_peak), 4U);
}

TEST_F(FlatTest, AShareOfTheMemoryIsNearToThePage) {
  flat_of(rig_.control()).share.store(FlatControl::whole_share / 4);
  fill(40);
  EXPECT_EQ(near(), 10U);
  EXPECT_EQ(flat().own_far(), 30U);
}

TEST_F(FlatTest, AnExchangeKeepsContentsAndSwapsFrames) {
  fill(8);
  exchange(6, 1);
  expect_whole(8);
  EXPECT_EQ(tier(6), Tier::near);
  EXPECT_EQ(tier(1), Tier::far);
  EXPECT_EQ(node(6), 0);
  EXPECT_EQ(node(1), 1);
  EXPECT_EQ(near(), 4U);
}

TEST_F(FlatTest, TheLongestTimeThatAPageWasAwayIsKept) {
  fill(8);
  const auto takes = [&](std::uint64_t ns) {
    rig_.before_move(2, [this, ns] { rig_.memory().now += ns; });
  };
  takes(40'000);
  exchange(6, 1);
  takes(9'000);
  exchange(7, 0);
  EXPECT_EQ(rig_.count(Count::longest_away_ns), 40'000U);
  takes(90'000);
  rig_.memory().now += 1'000'000;  // between two exchanges no page is away
  exchange(1, 6);
  EXPECT_EQ(rig_.count(Count::longest_away_ns), 90'000U);
}

TEST_F(FlatTest, FewerPagesAreProbedWhereThatHasTakenLonger) {
  fill(8);
  FlatDetector detector(rig_.parts.state, rig_.mover, rig_.parts.eviction);
  const auto planned = [&] {
    const FlatDetector::Plan plan = detector.plan(100'000, 100'000'000);
    return plan.rounds * plan.pages;
  };
  EXPECT_EQ(planned(), 2000U);  // a fiftieth of 100 ms, at 1 us a page
  detector.begin_probes(8, 1'000'000);
  while (detector.probe_some()) {
  }
  while (detector.collect_some()) {
  }
  detector.spent(8 * 10'000);
  detector.begin_probes(8, 1'000'000);
  EXPECT_EQ(planned(), 200U);
}

TEST_F(FlatTest, APageThatRefusedIsNotProbedAgain) {
  fill(8);
  rig_.pages()[rig_.place(2)].refuses_move = -EBUSY;
  FlatDetector detector(rig_.parts.state, rig_.mover, rig_.parts.eviction);
  unsigned moves = 0;
  rig_.pages().before_move = [&](os::Place, os::Place from) { moves += from == rig_.place(2); };
  for (int round = 0; round < 3; ++round) {
    detector.begin_probes(8, 1'000'000);
    while (detector.probe_some()) {
    }
    while (detector.collect_some()) {
    }
  }
  EXPECT_EQ(moves, 1U);
  expect_whole(8);
}

TEST_F(FlatTest, PagesAboutToComeAreTheProcessesThatTheyCountFor) {
  const Member& member = rig_.parts.state.budget.member();
  ASSERT_EQ(flat().expect(0, 3), Tier::near);
  EXPECT_EQ(member.flat_near.load(), 3U);
  flat().end_expectation();
  EXPECT_EQ(member.flat_near.load(), 0U);
  fill(8);
  EXPECT_EQ(member.flat_near.load(), near());
  exchange(6, 1);
  EXPECT_EQ(member.flat_near.load(), near());
  EXPECT_EQ(member.flat_far.load(), 4U);
}

TEST_F(FlatTest, APageAloneIsCopiedToTheOtherTier) {
  fill(8);
  EXPECT_EQ(rig_.mover.relocate(2, 1, Tier::far), 1U);
  EXPECT_EQ(near(), 3U);
  EXPECT_EQ(node(2), 1);
  EXPECT_EQ(rig_.mover.relocate(7, 1, Tier::near), 1U);
  EXPECT_EQ(near(), 4U);
  EXPECT_EQ(node(7), 0);
  expect_whole(8);
}

TEST_F(FlatTest, NoPageIsPromotedWhereNearMemoryIsFull) {
  fill(8);
  EXPECT_EQ(rig_.mover.relocate(7, 1, Tier::near), 0U);
  EXPECT_EQ(near(), 4U);
  expect_whole(8);
}

TEST_F(FlatTest, ATouchedPageThatCannotBeMovedBackIsCopiedToItsOwnTier) {
  fill(8);
  ASSERT_EQ(rig_.mover.take_out(6, 1), 1U);
  rig_.pages()[rig_.place(6)].refuses_move = -EINVAL;
  rig_.parts.state.allocate_in(Tier::near);
  EXPECT_EQ(rig_.parts.page_in.take_back(6, os::Waking::later).pages, 1U);
  EXPECT_EQ(rig_.word(6), word_of(6));
  EXPECT_EQ(node(6), 1);
}

TEST_F(FlatTest, PagesThatComeDuringAForkComeFarAndAreCountedThere) {
  fill(2);
  TreeOrders orders(rig_.parts.state,
                    {rig_.parts.page_in, rig_.parts.read_ahead, rig_.parts.eviction,
                     rig_.parts.incoming, rig_.parts.windows});
  Fork fork(rig_.parts.state, {rig_.parts.page_in, rig_.parts.arrivals, rig_.parts.read_ahead,
                               rig_.parts.eviction, rig_.parts.incoming, rig_.parts.windows,
                               rig_.parts.remap, orders, rig_.parts.children});
  ASSERT_TRUE(fork.pause());
  EXPECT_EQ(fork.bring_in({.page = 2}).pages, 1U);
  EXPECT_EQ(fork.bring_in({.page = 3}).pages, 1U);
  fork.resume();
  for (const PageNumber page : {2U, 3U}) {
    EXPECT_EQ(tier(page), Tier::far);
    EXPECT_EQ(node(page), 1);
  }
  EXPECT_EQ(near(), 2U);
  rig_.bring_in(4);
  EXPECT_EQ(tier(4), Tier::near);
}

TEST_F(FlatTest, AnOrderThatLeavesTheLimitAsItIsEmptiesNothing) {
  fill(8);
  TreeOrders orders(rig_.parts.state,
                    {rig_.parts.page_in, rig_.parts.read_ahead, rig_.parts.eviction,
                     rig_.parts.incoming, rig_.parts.windows});
  orders.adopt_limit();
  ASSERT_EQ(rig_.mover.take_out(6, 1), 1U);
  orders_of(rig_.control()).generation.fetch_add(1);
  EXPECT_FALSE(orders.obey());
  EXPECT_EQ(rig_.state_of(6), State::limbo);
}

TEST_F(FlatTest, AProbeTellsWhichPagesWereTouchedMeanwhile) {
  fill(8);
  FlatDetector detector(rig_.parts.state, rig_.mover, rig_.parts.eviction);
  detector.begin_probes(8, 1000);
  while (detector.probe_some()) {
  }
  EXPECT_EQ(rig_.state_of(5), State::limbo);
  ASSERT_EQ(rig_.parts.page_in.take_back(5, os::Waking::later).pages, 1U);
  while (detector.collect_some()) {
  }
  expect_whole(8);
  EXPECT_EQ(rig_.count(Count::scanned), 8U);
  EXPECT_EQ(rig_.count(Count::found_used), 1U);
  EXPECT_EQ(rig_.count(Count::probe_faults), 1U);
}

TEST_F(FlatTest, AWrongTierIsCorrectedByWhereTheKernelHasPutThePage) {
  fill(8);
  rig_.pages()[rig_.place(6)].node = 0;  // its own copy after a fork
  FlatDetector detector(rig_.parts.state, rig_.mover, rig_.parts.eviction);
  detector.check_some();
  EXPECT_EQ(tier(6), Tier::near);
  EXPECT_EQ(near(), 5U);
}

TEST_F(FlatTest, AForkedChildKnowsOnlyPagesThatComeToItself) {
  fill(8);
  Member child{};
  flat().become_child(child);
  EXPECT_FALSE(flat().is_there(rig_.dense(6)));
  EXPECT_EQ(child.flat_near.load(), 0U);
  exchange(6, 1);
  expect_whole(8);
}

class NotedFlatTest : public FlatTest {
 protected:
  NotedFlatTest() : FlatTest(Detector::dirty) {}
  void scan() {
    while (detector_.scan_some()) {
    }
  }
  [[nodiscard]] std::uint64_t found() { return detector_.take_found(); }

  FlatDetector detector_{rig_.parts.state, rig_.mover, rig_.parts.eviction};

  void SetUp() override {
    detector_.start(Detector::dirty);
    fill(8);
    scan();
  }
};

TEST_F(NotedFlatTest, PagesThatHaveJustComeAreLeftOutOfAScan) {
  EXPECT_EQ(found(), 0U);
  EXPECT_EQ(rig_.count(Count::scanned), 0U);
}

TEST_F(NotedFlatTest, AScanFindsWhatWasWrittenSinceTheLastOne) {
  rig_.pages()[rig_.place(5)].used = true;
  scan();
  EXPECT_EQ(found(), 1U);
  scan();
  EXPECT_EQ(found(), 0U);
}

TEST_F(NotedFlatTest, ExchangedPagesDoNotLookWritten) {
  exchange(6, 1);
  exchange(7, 2);
  scan();
  EXPECT_EQ(found(), 0U);
  scan();
  EXPECT_EQ(found(), 0U);
}

}  // namespace test_file
}  // namespace nearfar::tier

// Two tiers that are both addressed directly: exchanges, and what the program may do during one.

#include <gtest/gtest.h>

#include "parts_rig.h"
#include "tier/flat/flat_tier.h"
#include "tier/pager/fork.h"
#include "tier/pager/tree_orders.h"

namespace nearfar::tier {
namespace test_file {

using policy::Detector;
using policy::Tier;

/// The parts of a pager with room for 4 near pages, and what moves pages between the tiers. Pages 0
/// to 3 come near, the others far; each holds its word.
class FlatTest : public testing::Test {
 protected:
  explicit FlatTest(Detector detector = Detector::probe)
      : rig_{{.limit = 4, .placement = "raminate", .detector = detector}} {
    PagerState& state = rig_.parts.state;
    state.flat = &flat();
    state.budget.unbind();
    state.limbo = Limbo(Limbo::most);
    state.uffd().track(detector == Detector::dirty ? os::Tracking::writes : os::Tracking::nothing);
    flat().belong_to(state.budget.member());
  }
  void fill(PageNumber pages) {
    for (PageNumber page = 0; page < pages; ++page) rig_.bring_in(page, word_of(page));
  }

  [[nodiscard]] FlatPages& flat() { return *rig_.flat(); }
  [[nodiscard]] policy::PageIndex dense(PageNumber page) {
    return rig_.parts.state.table.dense(page);
  }
  [[nodiscard]] Tier tier(PageNumber page) { return flat().tier(dense(page)); }
  [[nodiscard]] int node(PageNumber page) { return rig_.pages().at(rig_.place(page)).node; }
  [[nodiscard]] std::uint64_t near() { return flat().near_pages(); }
  void exchange(PageNumber promoted, PageNumber demoted) {
    mover_.make({.promote = dense(promoted), .demote = dense(demoted)});
  }
  /// Every page is in its place with its contents.
  void expect_whole(PageNumber pages) {
    for (PageNumber page = 0; page < pages; ++page) {
      EXPECT_EQ(rig_.state_of(page), State::near) << page;
      EXPECT_EQ(rig_.word(page), word_of(page)) << page;
    }
    EXPECT_EQ(rig_.parts.state.limbo.pages(), 0U);
  }
  /// Just before the kernel moves pages for the nth time from now on.
  void before_move(unsigned nth, const std::function<void()>& happens) {
    rig_.pages().before_move = [this, nth, happens, moves = 0U](os::Place, os::Place) mutable {
      if (++moves == nth) happens();
    };
  }

  PartsRig rig_;
  Mover mover_{rig_.parts.state, {rig_.parts.page_in, rig_.parts.arrivals, rig_.parts.eviction}};
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
    before_move(2, [this, ns] { rig_.memory().now += ns; });
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
  FlatDetector detector(rig_.parts.state, mover_, rig_.parts.eviction);
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

TEST_F(FlatTest, APageAloneIsCopiedToTheOtherTier) {
  fill(8);
  EXPECT_TRUE(mover_.relocate(2, Tier::far));
  EXPECT_EQ(near(), 3U);
  EXPECT_EQ(node(2), 1);
  EXPECT_TRUE(mover_.relocate(7, Tier::near));
  EXPECT_EQ(near(), 4U);
  EXPECT_EQ(node(7), 0);
  expect_whole(8);
}

TEST_F(FlatTest, NoPageIsPromotedWhereNearMemoryIsFull) {
  fill(8);
  EXPECT_FALSE(mover_.relocate(7, Tier::near));
  EXPECT_EQ(near(), 4U);
  expect_whole(8);
}

TEST_F(FlatTest, WhenTheSecondPageIsPinnedTheFirstIsPutBackWhereItWas) {
  fill(8);
  rig_.pages()[rig_.place(1)].refuses_move = -EBUSY;
  exchange(6, 1);
  expect_whole(8);
  EXPECT_EQ(tier(6), Tier::far);
  EXPECT_EQ(node(6), 1);
  EXPECT_EQ(tier(1), Tier::near);
  EXPECT_EQ(rig_.count(Count::refused), 1U);
  EXPECT_EQ(rig_.count(Count::promoted), 0U);
}

TEST_F(FlatTest, LockedAndReadOnlyPagesStayWhereTheyAre) {
  fill(8);
  rig_.pages()[rig_.place(6)].refuses_move = -EINVAL;
  exchange(6, 1);
  expect_whole(8);
  EXPECT_EQ(tier(6), Tier::far);
}

TEST_F(FlatTest, PagesThatAForkSharesStayUntilTheyAreWrittenTo) {
  fill(8);
  rig_.pages()[rig_.place(6)].shared = true;
  exchange(6, 1);
  EXPECT_EQ(tier(6), Tier::far);
  rig_.pages()[rig_.place(6)].shared = false;
  exchange(6, 1);
  EXPECT_EQ(tier(6), Tier::near);
  expect_whole(8);
}

TEST_F(FlatTest, MemoryThatIsProtectedDuringAnExchangeGetsACopyOfTheRightTier) {
  fill(8);
  before_move(3, [&] { rig_.pages()[rig_.place(6)].refuses_move = -EINVAL; });
  exchange(6, 1);
  expect_whole(8);
  EXPECT_EQ(tier(6), Tier::near);
  EXPECT_EQ(node(6), 0);
  EXPECT_EQ(node(1), 1);
}

TEST_F(FlatTest, MemoryThatIsDiscardedDuringAnExchangeReadsAsZeros) {
  fill(8);
  before_move(3, [&] { rig_.pages().changing = true; });  // madvise waits until it has been read
  exchange(6, 1);
  EXPECT_EQ(rig_.state_of(6), State::limbo);
  rig_.parts.remap.on_removed(rig_.place(6), rig_.place(7));
  rig_.pages().changing = false;
  EXPECT_EQ(rig_.state_of(6), State::fresh);
  EXPECT_TRUE(mover_.bring_all_back());
  EXPECT_EQ(near(), 3U);
  EXPECT_EQ(rig_.word(1), word_of(1));
  rig_.bring_in(6);
  EXPECT_EQ(rig_.word(6), 0U);
}

TEST_F(FlatTest, MemoryThatIsUnmappedDuringAnExchangeIsForgotten) {
  fill(8);
  before_move(3, [&] { rig_.pages().changing = true; });
  exchange(6, 1);
  rig_.parts.remap.on_unmapped(rig_.place(1), rig_.place(2));
  rig_.pages().changing = false;
  EXPECT_TRUE(mover_.bring_all_back());
  EXPECT_EQ(rig_.word(6), word_of(6));
  EXPECT_EQ(flat().own_near() + flat().own_far(), 7U);
}

TEST_F(FlatTest, MemoryThatMovesDuringAnExchangeTakesItsContentsAlong) {
  fill(8);
  before_move(3, [&] { rig_.pages().changing = true; });
  exchange(6, 1);
  rig_.pages().changing = false;
  Ranges ranges(rig_.parts.state,
                {rig_.parts.remap, rig_.parts.eviction, rig_.parts.huge, rig_.parts.incoming,
                 rig_.parts.windows, rig_.parts.page_in, rig_.parts.zeros});
  PageNumber passed = 0;
  EXPECT_EQ(ranges.move(rig_.place(6), rig_.place(600), os::page_bytes, passed), Outcome::yes);
  EXPECT_TRUE(mover_.bring_all_back());
  EXPECT_EQ(rig_.word(600), word_of(6));
  EXPECT_EQ(tier(600), Tier::near);
  EXPECT_EQ(near(), 4U);
}

TEST_F(FlatTest, AThreadThatTouchesAPageDuringAnExchangeGetsItBack) {
  fill(8);
  before_move(3, [&] { rig_.pages().changing = true; });
  exchange(6, 1);
  rig_.pages().changing = false;
  EXPECT_EQ(rig_.parts.page_in.take_back(6, os::Waking::later).pages, 1U);
  EXPECT_EQ(rig_.word(6), word_of(6));
  EXPECT_EQ(tier(6), Tier::near);
}

TEST_F(FlatTest, ATouchedPageThatCannotBeMovedBackIsCopiedToItsOwnTier) {
  fill(8);
  ASSERT_EQ(mover_.take_out(6, 1), 1U);
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
  ASSERT_EQ(mover_.take_out(6, 1), 1U);
  orders_of(rig_.control()).generation.fetch_add(1);
  EXPECT_FALSE(orders.obey());
  EXPECT_EQ(rig_.state_of(6), State::limbo);
}

TEST_F(FlatTest, WhatTheProgramWantsToStayIsNotExchanged) {
  fill(8);
  ASSERT_TRUE(rig_.parts.eviction.keep_near(rig_.place(6), rig_.place(7)));
  exchange(6, 1);
  EXPECT_EQ(tier(6), Tier::far);
  expect_whole(8);
}

TEST_F(FlatTest, APageThatTheProgramDroppedPastLibcIsForgotten) {
  fill(8);
  rig_.pages()[rig_.place(6)].present = false;
  exchange(6, 1);
  EXPECT_EQ(rig_.state_of(6), State::fresh);
  EXPECT_EQ(tier(1), Tier::near);
}

TEST_F(FlatTest, AProbeTellsWhichPagesWereTouchedMeanwhile) {
  fill(8);
  FlatDetector detector(rig_.parts.state, mover_, rig_.parts.eviction);
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
  FlatDetector detector(rig_.parts.state, mover_, rig_.parts.eviction);
  detector.check_some();
  EXPECT_EQ(tier(6), Tier::near);
  EXPECT_EQ(near(), 5U);
}

TEST_F(FlatTest, AForkedChildKnowsOnlyPagesThatComeToItself) {
  fill(8);
  Member child{};
  flat().become_child(child);
  EXPECT_FALSE(flat().is_there(dense(6)));
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

  FlatDetector detector_{rig_.parts.state, mover_, rig_.parts.eviction};

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

// What moves pages between tiers by itself, a step at a time.

#include "tier/flat/flat_tier.h"

#include <gtest/gtest.h>

#include "flat_rig.h"

namespace nearfar::tier {
namespace test_file {

using policy::Tier;

/// A pager with room for as many near pages as there are, until `lower`.
class FlatTierTest : public testing::Test {
 protected:
  static constexpr PageNumber pages = 256;

  FlatTierTest() {
    PagerState& state = rig_.parts.state;
    state.flat = rig_.flat();
    state.budget.unbind();
    state.limbo = Limbo(Limbo::most);
    state.flat->belong_to(state.budget.member());
    FlatControl& control = flat_of(rig_.control());
    control.interval_ns = 1'000'000'000;
    control.pairs = 8;
    tier_.start();
    for (PageNumber page = 0; page < pages; ++page) rig_.bring_in(page, word_of(page));
  }
  void lower(std::uint64_t limit) { rig_.control().limit_pages.store(limit); }
  [[nodiscard]] std::uint64_t near() { return rig_.flat()->near_pages(); }
  /// Works as long as something is due now; in how many steps.
  unsigned work() {
    unsigned steps = 0;
    while (steps < 10'000 && tier_.milliseconds() == 0 && tier_.work()) ++steps;
    return steps;
  }

  PartsRig rig_{{.limit = pages, .placement = "static", .detector = policy::Detector::probe}};
  FlatTier tier_{rig_.parts.state, {rig_.parts.page_in, rig_.parts.arrivals, rig_.parts.eviction}};
};

TEST_F(FlatTierTest, ALowerLimitIsReachedToThePageAFewPagesAStep) {
  ASSERT_EQ(near(), pages);
  lower(56);
  EXPECT_GE(work(), (pages - 56) / 16);
  EXPECT_EQ(near(), 56U);
  for (PageNumber page = 0; page < pages; ++page) EXPECT_EQ(rig_.word(page), word_of(page));
}

TEST_F(FlatTierTest, PagesThatRefuseAreTriedAFewAStepAndOnceALimit) {
  for (PageNumber page = 0; page < pages; ++page)
    rig_.pages()[rig_.place(page)].refuses_move = -EBUSY;
  lower(56);
  EXPECT_GE(work(), pages / 16);
  EXPECT_EQ(near(), pages);
  EXPECT_EQ(rig_.count(Count::refused), pages);
  EXPECT_NE(tier_.milliseconds(), 0);
  lower(40);
  (void)work();
  EXPECT_EQ(rig_.count(Count::refused), 2 * pages);
}

/// Pages 0 to 3 are near and 4 to 7 far. One pair may change places a decision; writes are noted.
class FlatDecisionTest : public testing::Test {
 protected:
  FlatDecisionTest() {
    FlatControl& control = flat_of(rig_.control());
    control.detector = static_cast<decltype(control.detector)>(policy::Detector::dirty);
    control.interval_ns = 1'000'000'000;
    control.pairs = 1;
    tier_.start();
    rig_.fill(0, 8);
  }
  /// Passes so many intervals, in all scans of which page 6 is written.
  void pass(unsigned intervals) {
    for (unsigned scan = 0; scan < intervals * policy::scans_a_decision; ++scan) {
      info(6).used = true;
      rig_.memory().now += 200'000'000;
      while (tier_.milliseconds() == 0 && tier_.work()) {
      }
    }
  }
  [[nodiscard]] FakePages::Info& info(PageNumber page) { return rig_.pages()[rig_.place(page)]; }
  [[nodiscard]] bool is_named(PageNumber page) { return rig_.flat()->is_named(rig_.dense(page)); }

  FlatRig rig_{4, policy::Detector::dirty};
  FlatTier tier_{rig_.parts.state, {rig_.parts.page_in, rig_.parts.arrivals, rig_.parts.eviction}};
};

TEST_F(FlatDecisionTest, AnotherPageMakesRoomWhereTheColdestIsSharedWithAChild) {
  info(0).shared = info(1).shared = true;
  pass(4);
  EXPECT_EQ(rig_.tier(6), Tier::near);
  EXPECT_EQ(rig_.count(Count::refused), 2U);
  EXPECT_EQ(rig_.near(), 4U);
  rig_.expect_whole(0, 8);
}

TEST_F(FlatDecisionTest, APageThatRefusedIsNamedAgainWhenItIsWrittenTo) {
  rig_.flat()->set_forking(true);
  rig_.flat()->set_forking(false);
  info(0).shared = true;
  pass(2);
  ASSERT_FALSE(is_named(0));
  info(0).shared = false;
  info(0).used = true;
  pass(1);
  EXPECT_TRUE(is_named(0));
}

TEST_F(FlatDecisionTest, APageThatRefusedIsNamedAgainAfterAWhile) {
  info(0).refuses_move = -EBUSY;
  pass(2);
  ASSERT_FALSE(is_named(0));
  info(0).refuses_move = 0;
  pass(32);
  EXPECT_TRUE(is_named(0));
}

TEST_F(FlatDecisionTest, APageThatRefusesAgainAndAgainIsNamedHalfAsOftenEachTime) {
  for (PageNumber page = 0; page < 4; ++page) info(page).refuses_move = -EBUSY;
  pass(32 + 64 + 128 + 3);
  EXPECT_GE(rig_.count(Count::refused), 12U);
  EXPECT_LE(rig_.count(Count::refused), 20U);
}

TEST_F(FlatDecisionTest, PagesThatAllRefuseLeaveNearMemoryAsItIs) {
  for (PageNumber page = 0; page < 4; ++page) info(page).refuses_move = -EBUSY;
  pass(40);
  EXPECT_EQ(rig_.near(), 4U);
  EXPECT_EQ(rig_.tier(6), Tier::far);
  EXPECT_LE(rig_.count(Count::refused), 8U);
}

TEST_F(FlatDecisionTest, APageWrittenAfterAForkIsCountedWhereTheKernelPutItsCopy) {
  rig_.flat()->set_forking(true);
  rig_.flat()->set_forking(false);
  info(5).used = true;
  info(5).node = 0;
  ASSERT_EQ(rig_.tier(5), Tier::far);
  // By what was written, not in the turn of its group.
  FlatDetector detector(rig_.parts.state, rig_.mover, rig_.parts.eviction);
  detector.start(policy::Detector::dirty);
  (void)detector.scan_some();
  EXPECT_EQ(rig_.tier(5), Tier::near);
  EXPECT_EQ(rig_.near(), 5U);
}

}  // namespace test_file
}  // namespace nearfar::tier

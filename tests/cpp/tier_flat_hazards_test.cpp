// What the program and the kernel may do while pages of two tiers change places: one pair alone,
// and groups of 2 MiB.

#include <gtest/gtest.h>

#include <string>

#include "flat_rig.h"

namespace nearfar::tier {
namespace test_file {

using policy::Tier;

/// As many pages near as change places, from page 0 on, and as many far from 512 on. Each test
/// looks most closely at one pair of them.
class FlatHazardTest : public testing::TestWithParam<PageNumber> {
 protected:
  static constexpr PageNumber far_ones = 512;

  FlatHazardTest() {
    rig_.fill(0, count());
    rig_.fill(far_ones, far_ones + count());
  }
  [[nodiscard]] static PageNumber count() { return GetParam(); }
  /// A far page that is to come near, and the near one that makes room for it: inside a group, but
  /// among those that are moved first.
  [[nodiscard]] static PageNumber up() { return far_ones + (count() - 1) % 40; }
  [[nodiscard]] static PageNumber down() { return (count() - 1) % 40; }
  void exchange() { rig_.exchange(far_ones, 0, count()); }
  /// The program changes its memory after pages have been taken out: they stay so until the pager
  /// has read of it.
  void exchange_during_a_change() {
    rig_.before_move(3, [&] { rig_.pages().changing = true; });
    exchange();
    ASSERT_EQ(rig_.state_of(up()), State::limbo);
    ASSERT_EQ(rig_.state_of(down()), State::limbo);
    rig_.pages().changing = false;
  }
  /// All pages hold what they held, and all but a pair have changed places.
  void expect_all_but_one_exchanged() {
    expect_contents();
    for (PageNumber i = 0; i < count(); ++i) {
      const bool stayed = i == down();
      EXPECT_EQ(rig_.tier(i), stayed ? Tier::near : Tier::far) << i;
      EXPECT_EQ(rig_.node(i), stayed ? 0 : 1) << i;
      EXPECT_EQ(rig_.tier(far_ones + i), stayed ? Tier::far : Tier::near) << i;
      EXPECT_EQ(rig_.node(far_ones + i), stayed ? 1 : 0) << i;
    }
    EXPECT_EQ(rig_.near(), count());
    EXPECT_EQ(rig_.count(Count::promoted), count() - 1);
    EXPECT_EQ(rig_.count(Count::demoted), count() - 1);
  }
  void expect_contents() {
    rig_.expect_whole(0, count());
    rig_.expect_whole(far_ones, far_ones + count());
  }
  [[nodiscard]] FakePages::Info& info(PageNumber page) { return rig_.pages()[rig_.place(page)]; }

  FlatRig rig_{GetParam(), policy::Detector::probe};
};

INSTANTIATE_TEST_SUITE_P(, FlatHazardTest, testing::Values(1U, 512U), [](const auto& info) {
  return info.param == 1 ? std::string("Pair") : std::string("Group");
});

TEST_P(FlatHazardTest, AllPagesChangePlacesWhereNothingHappens) {
  exchange();
  expect_contents();
  for (PageNumber i = 0; i < count(); ++i) {
    EXPECT_EQ(rig_.node(i), 1) << i;
    EXPECT_EQ(rig_.node(far_ones + i), 0) << i;
  }
  EXPECT_EQ(rig_.near(), count());
  EXPECT_EQ(rig_.count(Count::promoted), count());
  EXPECT_EQ(rig_.count(Count::refused), 0U);
}

TEST_P(FlatHazardTest, APinnedPageStaysNear) {
  info(down()).refuses_move = -EBUSY;
  exchange();
  expect_all_but_one_exchanged();
  EXPECT_EQ(rig_.count(Count::refused), 1U);
}

TEST_P(FlatHazardTest, NoUsedPageIsTakenOutForPagesThatRefuse) {
  for (PageNumber i = 0; i < count(); ++i) info(i).refuses_move = -EBUSY;
  unsigned used_ones = 0;
  rig_.pages().before_move = [&](os::Place, os::Place from) {
    used_ones += from >= rig_.place(far_ones) && from < rig_.place(far_ones + count()) ? 1 : 0;
  };
  exchange();
  rig_.pages().before_move = nullptr;
  expect_contents();
  EXPECT_EQ(used_ones, 0U);
  EXPECT_EQ(rig_.count(Count::refused), count());
}

TEST_P(FlatHazardTest, WhenTheSecondPageIsPinnedTheFirstIsPutBackWhereItWas) {
  info(up()).refuses_move = -EBUSY;
  exchange();
  expect_all_but_one_exchanged();
  EXPECT_EQ(rig_.count(Count::refused), 1U);
}

TEST_P(FlatHazardTest, LockedAndReadOnlyPagesStayWhereTheyAre) {
  info(up()).refuses_move = -EINVAL;
  exchange();
  expect_all_but_one_exchanged();
  EXPECT_EQ(rig_.count(Count::refused), 1U);
}

TEST_P(FlatHazardTest, PagesThatAForkSharesStayUntilTheyAreWrittenTo) {
  info(up()).shared = true;
  exchange();
  expect_all_but_one_exchanged();
  info(up()).shared = false;
  rig_.exchange(up(), down());
  EXPECT_EQ(rig_.tier(up()), Tier::near);
  expect_contents();
}

TEST_P(FlatHazardTest, WhatTheProgramWantsToStayIsNotExchanged) {
  ASSERT_TRUE(rig_.parts.eviction.keep_near(rig_.place(up()), rig_.place(up() + 1)));
  exchange();
  expect_all_but_one_exchanged();
}

TEST_P(FlatHazardTest, MemoryThatIsProtectedDuringAnExchangeGetsACopyOfTheRightTier) {
  rig_.before_move(3, [&] { info(up()).refuses_move = -EINVAL; });
  exchange();
  expect_contents();
  for (PageNumber i = 0; i < count(); ++i) {
    EXPECT_EQ(rig_.node(i), 1) << i;
    EXPECT_EQ(rig_.node(far_ones + i), 0) << i;
  }
  EXPECT_EQ(rig_.count(Count::promoted), count());
}

TEST_P(FlatHazardTest, MemoryThatIsDiscardedDuringAnExchangeReadsAsZeros) {
  exchange_during_a_change();
  rig_.parts.remap.on_removed(rig_.place(up()), rig_.place(up() + 1));
  EXPECT_EQ(rig_.state_of(up()), State::fresh);
  EXPECT_TRUE(rig_.mover.bring_all_back());
  EXPECT_EQ(rig_.near(), count() - 1);
  EXPECT_EQ(rig_.word(down()), word_of(down()));
  rig_.bring_in(up());
  EXPECT_EQ(rig_.word(up()), 0U);
}

TEST_P(FlatHazardTest, MemoryThatIsUnmappedDuringAnExchangeIsForgotten) {
  exchange_during_a_change();
  rig_.parts.remap.on_unmapped(rig_.place(down()), rig_.place(down() + 1));
  EXPECT_TRUE(rig_.mover.bring_all_back());
  for (PageNumber i = 0; i < count(); ++i)
    EXPECT_EQ(rig_.word(far_ones + i), word_of(far_ones + i)) << i;
  EXPECT_EQ(rig_.flat()->own_near() + rig_.flat()->own_far(), 2 * count() - 1);
}

TEST_P(FlatHazardTest, MemoryThatMovesDuringAnExchangeTakesItsContentsAlong) {
  exchange_during_a_change();
  Ranges ranges(rig_.parts.state,
                {rig_.parts.remap, rig_.parts.eviction, rig_.parts.huge, rig_.parts.incoming,
                 rig_.parts.windows, rig_.parts.page_in, rig_.parts.zeros});
  constexpr PageNumber target = 1600;
  PageNumber passed = 0;
  EXPECT_EQ(ranges.move(rig_.place(up()), rig_.place(target), os::page_bytes, passed),
            Outcome::yes);
  EXPECT_TRUE(rig_.mover.bring_all_back());
  EXPECT_EQ(rig_.word(target), word_of(up()));
  EXPECT_EQ(rig_.tier(target), Tier::near);
  EXPECT_EQ(rig_.near(), count());
}

TEST_P(FlatHazardTest, AThreadThatTouchesAPageDuringAnExchangeGetsItBack) {
  exchange_during_a_change();
  EXPECT_EQ(rig_.parts.page_in.take_back(up(), os::Waking::later).pages, 1U);
  EXPECT_EQ(rig_.word(up()), word_of(up()));
  EXPECT_EQ(rig_.tier(up()), Tier::near);
  EXPECT_TRUE(rig_.mover.bring_all_back());
  expect_contents();
}

TEST_P(FlatHazardTest, AMoveThatTheKernelDoesNotCountIsNotTakenForAnotherPage) {
  info(up()).uncounted = true;
  exchange();
  expect_contents();
  EXPECT_EQ(rig_.near(), count());
  EXPECT_EQ(rig_.count(Count::promoted), count());
  EXPECT_EQ(rig_.count(Count::refused), 0U);
}

TEST_P(FlatHazardTest, APageThatTheProgramDroppedPastLibcIsForgotten) {
  info(up()).present = false;
  exchange();
  EXPECT_EQ(rig_.state_of(up()), State::fresh);
  EXPECT_EQ(rig_.tier(down()), Tier::near);
  EXPECT_EQ(rig_.flat()->own_near() + rig_.flat()->own_far(), 2 * count() - 1);
}

}  // namespace test_file
}  // namespace nearfar::tier

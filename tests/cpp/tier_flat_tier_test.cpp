// What moves pages between tiers by itself, a step at a time.

#include "tier/flat/flat_tier.h"

#include <gtest/gtest.h>

#include "parts_rig.h"

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

}  // namespace test_file
}  // namespace nearfar::tier

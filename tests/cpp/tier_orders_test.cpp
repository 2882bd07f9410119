// What a tree is told while it runs: another limit, or to bring everything back and keep it.

#include <gtest/gtest.h>

#include "parts_rig.h"
#include "tier/pager/tree_orders.h"

namespace nearfar::tier {
namespace test_file {

class TreeOrdersTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_.bring_in(0, 10);
    rig_.send_far(1, 11);
    rig_.bring_in(2, 12);
    ASSERT_TRUE(parts_.eviction.displace(2));  // in limbo
  }

  void order(Residence residence) {
    Orders& all = orders_of(rig_.control());
    all.residence.store(residence);
    all.generation.fetch_add(1);
  }
  [[nodiscard]] Orders::Answer& answer() {
    return orders_of(rig_.control()).answers[parts_.state.budget.index()];
  }
  /// Obeys as long as there is more to do; in how many steps, 1000 at most.
  int obey_all() {
    int steps = 0;
    while (steps < 1000 && orders_.obey()) ++steps;
    return steps;
  }

  PartsRig rig_{{.limit = 512}};
  Parts& parts_ = rig_.parts;
  TreeOrders orders_{
      parts_.state,
      {parts_.page_in, parts_.read_ahead, parts_.eviction, parts_.incoming, parts_.windows}};
};

TEST_F(TreeOrdersTest, BringEverythingBackAndKeepIt) {
  order(Residence::kept);
  EXPECT_GT(obey_all(), 0);
  for (PageNumber page = 0; page < 3; ++page) {
    EXPECT_EQ(rig_.state_of(page), State::near);
    EXPECT_EQ(rig_.word(page), 10U + page);
  }
  EXPECT_EQ(answer().generation.load(), 1U);
  EXPECT_TRUE(parts_.state.keeps_near);
}

TEST_F(TreeOrdersTest, SayHowManyPagesAreFarAndLeaveThemThere) {
  order(Residence::counted);
  EXPECT_FALSE(orders_.obey());
  EXPECT_EQ(answer().far_pages.load(), 1U);
  EXPECT_EQ(answer().generation.load(), 1U);
  EXPECT_EQ(rig_.state_of(1), State::far);
  EXPECT_TRUE(parts_.state.keeps_near);
  order(Residence::free);
  EXPECT_FALSE(orders_.obey());
  EXPECT_EQ(answer().far_pages.load(), 0U);
  EXPECT_FALSE(parts_.state.keeps_near);
}

TEST_F(TreeOrdersTest, AreObeyedOnce) {
  order(Residence::kept);
  (void)obey_all();
  ASSERT_TRUE(parts_.eviction.displace(1));
  parts_.eviction.drain_all();
  EXPECT_FALSE(orders_.obey());
  EXPECT_EQ(rig_.state_of(1), State::far);
}

TEST_F(TreeOrdersTest, AreObeyedAgainByAForkedChild) {
  order(Residence::kept);
  (void)obey_all();
  answer().generation.store(0);
  orders_.become_child();
  (void)obey_all();
  EXPECT_EQ(answer().generation.load(), 1U);
}

TEST_F(TreeOrdersTest, AreAnsweredOnlyWhenPagesHaveComeThatHadToWait) {
  order(Residence::kept);
  rig_.pages().changing = true;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(orders_.obey());
  EXPECT_EQ(answer().generation.load(), 0U);
  rig_.pages().changing = false;
  (void)obey_all();
  EXPECT_EQ(answer().generation.load(), 1U);
  EXPECT_EQ(rig_.state_of(1), State::near);
  EXPECT_EQ(rig_.state_of(2), State::near);
}

TEST_F(TreeOrdersTest, BringBackWhatIsBesidePagesThatCannotCome) {
  for (PageNumber page = 8; page < 16; ++page) rig_.send_far(page, 20 + page);
  for (PageNumber page = 8; page < 11; ++page)
    rig_.pages()[rig_.place(page)].registered = false;  // past the library
  order(Residence::kept);
  EXPECT_LT(obey_all(), 1000);
  for (PageNumber page = 8; page < 11; ++page) EXPECT_EQ(rig_.state_of(page), State::far) << page;
  for (PageNumber page = 11; page < 16; ++page) {
    ASSERT_EQ(rig_.state_of(page), State::near) << page;
    EXPECT_EQ(rig_.word(page), 20U + page);
  }
  EXPECT_EQ(answer().generation.load(), 1U);
}

TEST_F(TreeOrdersTest, BringBackRunsToTheEndOfTheRegion) {
  const PageNumber end = parts_.state.end_page();
  for (PageNumber page = end - 40; page < end; ++page) rig_.send_far(page, page);
  order(Residence::kept);
  (void)obey_all();
  for (PageNumber page = end - 40; page < end; ++page) ASSERT_EQ(rig_.state_of(page), State::near);
}

TEST_F(TreeOrdersTest, AnotherLimitResizesLimbo) {
  const std::size_t before = parts_.state.limbo.capacity();
  rig_.control().limit_pages.store(4096);
  order(Residence::free);
  EXPECT_FALSE(orders_.obey());
  EXPECT_GT(parts_.state.limbo.capacity(), before);
  EXPECT_EQ(rig_.state_of(2), State::far);
  EXPECT_EQ(answer().far_pages.load(), 0U);
}

}  // namespace test_file
}  // namespace nearfar::tier

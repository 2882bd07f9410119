// What a fork changes in parent and child; the child's side runs in this process, too.

#include <gtest/gtest.h>
#include <unistd.h>

#include "parts_rig.h"
#include "tier/pager/fork.h"

namespace nearfar::tier {
namespace test_file {

class ForkTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_.bring_in(0, 10);
    rig_.send_far(1, 11);
    rig_.bring_in(2, 12);
    ASSERT_TRUE(rig_.parts.eviction.displace(2));
  }

  PartsRig rig_{{.limit = 512}};
  Parts& parts_ = rig_.parts;
  TreeOrders orders_{
      parts_.state,
      {parts_.page_in, parts_.read_ahead, parts_.eviction, parts_.incoming, parts_.windows}};
  Fork fork_{parts_.state,
             {parts_.page_in, parts_.arrivals, parts_.read_ahead, parts_.eviction, parts_.incoming,
              parts_.windows, parts_.remap, orders_, parts_.children}};
};

TEST_F(ForkTest, EmptiesLimboAndSharesSlots) {
  ASSERT_TRUE(fork_.prepare());
  ASSERT_TRUE(fork_.pause());
  EXPECT_TRUE(fork_.is_paused());
  EXPECT_EQ(rig_.state_of(2), State::far);
  EXPECT_TRUE(parts_.state.slots().shared(rig_.entry(1).slot()));
  EXPECT_EQ(rig_.count(Count::forks), 1U);
  fork_.resume();
  EXPECT_FALSE(fork_.is_paused());
  EXPECT_TRUE(parts_.state.has_forked);
}

TEST_F(ForkTest, NotesPagesThatComeMeanwhileAndTakesThemDownAfterwards) {
  ASSERT_TRUE(fork_.pause());
  EXPECT_TRUE(fork_.can_serve());
  EXPECT_EQ(fork_.bring_in({.page = 1}).pages, 1U);
  EXPECT_EQ(rig_.word(1), 11U);
  EXPECT_EQ(rig_.state_of(1), State::far);
  fork_.resume();
  EXPECT_EQ(rig_.state_of(1), State::near);
}

TEST_F(ForkTest, TakesAPageDownOnceThatSeveralThreadsHaveWaitedToWriteTo) {
  parts_.state.shows_zeros = true;
  ASSERT_TRUE(fork_.pause());
  EXPECT_EQ(fork_.bring_in({.page = 5, .touch = os::Touch::write}).pages, 1U);
  EXPECT_EQ(fork_.bring_in({.page = 5, .touch = os::Touch::write}).pages, 0U);
  EXPECT_EQ(fork_.bring_in({.page = 5, .touch = os::Touch::write_protected}).pages, 0U);
  fork_.resume();
  EXPECT_EQ(rig_.state_of(5), State::near);
}

TEST_F(ForkTest, BringsNothingInWhileAChangeHasNotBeenRead) {
  ASSERT_TRUE(fork_.pause());
  rig_.pages().changing = true;
  EXPECT_TRUE(fork_.bring_in({.page = 1}).retry);
  rig_.pages().changing = false;
  fork_.resume();
  EXPECT_EQ(rig_.state_of(1), State::far);
}

TEST_F(ForkTest, ServesAPageNowAndThenWhenWhatWasPutAsideIsGone) {
  ASSERT_TRUE(fork_.pause());
  PageNumber page = 100;
  while (fork_.can_serve()) ASSERT_EQ(fork_.bring_in({.page = page++}).pages, 1U);
  EXPECT_GT(page, 116U);
  EXPECT_EQ(rig_.count(Count::over_budget), 1U);
  rig_.memory().now += 2'000'000;
  EXPECT_TRUE(fork_.can_serve());
  fork_.resume();
  EXPECT_EQ(rig_.state_of(100), State::near);
}

TEST_F(ForkTest, AChildHasWhatWasThereAndBorrowsWhatIsFar) {
  ASSERT_TRUE(fork_.pause());
  ASSERT_EQ(fork_.bring_in({.page = 1}).pages, 1U);
  fork_.become_child(rig_.place(0), 4242);
  EXPECT_FALSE(fork_.is_paused());
  EXPECT_EQ(rig_.state_of(0), State::near);
  EXPECT_EQ(rig_.state_of(1), State::near);
  EXPECT_TRUE(rig_.entry(2).borrowed);
  EXPECT_EQ(parts_.state.budget.member().process.load(), 4242);
  // libc has touched a far page before it was registered: that is gone.
  rig_.pages()[rig_.place(2)].present = true;
  fork_.register_in_child();
  EXPECT_FALSE(rig_.pages().at(rig_.place(2)).present);
  EXPECT_TRUE(rig_.pages().at(rig_.place(2)).registered);
  // A page that is borrowed is never given back by the child.
  const Slot slot = rig_.entry(2).slot();
  parts_.state.discard_and_uncharge(2);
  EXPECT_TRUE(parts_.state.slots().shared(slot));
}

TEST_F(ForkTest, WhatTheParentHasDroppedIsGoneInTheChild) {
  ASSERT_TRUE(fork_.pause());
  fork_.become_child(rig_.place(0), 4243);
  fork_.on_removed_in_parent(rig_.place(0), rig_.place(2));
  EXPECT_EQ(rig_.state_of(0), State::fresh);
  EXPECT_FALSE(rig_.pages().at(rig_.place(0)).present);
}

TEST_F(ForkTest, WhatAChildWasChargedIsFreeWhenItHasEnded) {
  ASSERT_TRUE(fork_.pause());
  fork_.resume();  // no process has the child's end of the pipe, as if the child had ended
  EXPECT_TRUE(parts_.state.slots().shared(rig_.entry(1).slot()));
  rig_.pages()[rig_.place(0)].refuses_move = -EBUSY;
  parts_.state.budget.charge(parts_.state.budget.free());
  EXPECT_TRUE(parts_.eviction.reserve(1));
  EXPECT_EQ(parts_.state.budget.others(), 0U);
  EXPECT_FALSE(parts_.state.slots().shared(rig_.entry(1).slot()));
}

TEST_F(ForkTest, NothingIsPausedWhereTheTreeHasNoPlaceForAChild) {
  Control& control = rig_.control();
  for (Member& member : control.members) {
    std::int32_t empty = 0;
    (void)member.process.compare_exchange_strong(empty, ::getpid());
  }
  EXPECT_FALSE(fork_.prepare());
  EXPECT_FALSE(fork_.pause());
  EXPECT_FALSE(fork_.is_paused());
  EXPECT_EQ(rig_.count(Count::forks), 0U);
}

TEST_F(ForkTest, AChildIsChargedBeyondTheLimitWhereNothingCanLeave) {
  rig_.pages()[rig_.place(0)].refuses_move = -EBUSY;
  parts_.eviction.drain_all();
  parts_.state.budget.charge(parts_.state.budget.free());
  ASSERT_TRUE(fork_.pause());
  EXPECT_EQ(parts_.state.budget.others(), rig_.charged());
  EXPECT_GE(rig_.count(Count::over_budget), rig_.charged());
  const std::uint64_t charged = rig_.charged();
  EXPECT_TRUE(fork_.can_serve());  // one now, though nothing could be put aside
  EXPECT_EQ(fork_.bring_in({.page = 1}).pages, 1U);
  EXPECT_EQ(rig_.charged(), charged + 1);
  EXPECT_FALSE(fork_.can_serve());
  fork_.resume();
}

TEST(ForkOfAnEmptyProcess, SharesNoSlots) {
  PartsRig rig;
  ASSERT_TRUE(rig.parts.children.prepare());
  Children::Child* const child = rig.parts.children.begin();
  ASSERT_NE(child, nullptr);
  rig.parts.children.share_slots(*child);
  EXPECT_EQ(child->shared, nullptr);
  EXPECT_EQ(child->count, 0U);
  rig.parts.children.end(*child);
  EXPECT_FALSE(rig.parts.children.reap());
}

}  // namespace test_file
}  // namespace nearfar::tier

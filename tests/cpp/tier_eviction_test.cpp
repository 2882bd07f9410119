// How pages leave near memory, and what stays.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

void fill(PartsRig& rig, PageNumber pages) {
  for (PageNumber page = 0; page < pages; ++page) rig.bring_in(page, page + 1);
}

TEST(Eviction, TakesNamedPagesIntoLimboFirst) {
  PartsRig rig({.limit = 64});
  fill(rig, 32);
  const std::uint64_t charged = rig.charged();
  EXPECT_EQ(rig.parts.eviction.evict(), 16U);
  EXPECT_EQ(rig.parts.state.limbo.pages(), 16U);
  EXPECT_EQ(rig.charged(), charged);
  EXPECT_EQ(rig.parts.eviction.drain(100), 16U);
  EXPECT_EQ(rig.charged(), charged - 16);
  EXPECT_EQ(rig.count(Count::copies_out), 16U);
}

TEST(Eviction, PassesOverPagesThatTheKernelDoesNotMove) {
  PartsRig rig({.limit = 64});
  fill(rig, 32);
  for (PageNumber page = 0; page < 32; page += 2)
    rig.pages()[rig.place(page)].refuses_move = -EBUSY;
  while (rig.parts.eviction.evict() != 0 && rig.count(Count::evictions) < 16) {
  }
  for (PageNumber page = 0; page < 32; ++page)
    EXPECT_EQ(rig.state_of(page) == State::near, page % 2 == 0) << page;
  EXPECT_GE(rig.count(Count::pinned), 16U);
}

TEST(Eviction, MovesWhatItCanOfARunThatIsProtectedInPart) {
  PartsRig rig({.limit = 64});
  fill(rig, 16);
  rig.pages()[rig.place(9)].refuses_move = -EINVAL;
  (void)rig.parts.eviction.evict();
  EXPECT_EQ(rig.count(Count::evictions), 15U);
  EXPECT_EQ(rig.state_of(9), State::near);
}

TEST(Eviction, ForgetsAPageThatTheProgramHasDropped) {
  PartsRig rig({.limit = 64});
  fill(rig, 1);
  rig.memory().advise(rig.place(0), os::page_bytes, MADV_DONTNEED);
  const std::uint64_t charged = rig.charged();
  EXPECT_EQ(rig.parts.eviction.evict(), 0U);
  EXPECT_EQ(rig.state_of(0), State::fresh);
  EXPECT_EQ(rig.charged(), charged - 1);
}

TEST(Eviction, KeepsAPageThatIsJustBeingMovedByTheProgram) {
  PartsRig rig({.limit = 64});
  fill(rig, 1);
  rig.pages().changing = true;
  EXPECT_EQ(rig.parts.eviction.evict(), 0U);
  EXPECT_EQ(rig.state_of(0), State::near);
}

TEST(Eviction, LeavesPagesThatAreToBeKeptNear) {
  PartsRig rig({.limit = 64});
  fill(rig, 16);
  ASSERT_TRUE(rig.parts.eviction.keep_near(rig.place(0), rig.place(8)));
  EXPECT_EQ(rig.parts.eviction.kept_pages(), 8U);
  (void)rig.parts.eviction.evict();
  for (PageNumber page = 0; page < 16; ++page)
    EXPECT_EQ(rig.state_of(page) == State::near, page < 8) << page;
  rig.parts.eviction.release_near(rig.place(0), rig.place(8));
  (void)rig.parts.eviction.evict();
  EXPECT_NE(rig.state_of(0), State::near);
}

TEST(Eviction, LeavesKeptPagesAmidARunThatLeaves) {
  PartsRig rig({.limit = 64});
  fill(rig, 16);
  ASSERT_TRUE(rig.parts.eviction.keep_near(rig.place(4), rig.place(6)));
  (void)rig.parts.eviction.evict();
  for (PageNumber page = 0; page < 16; ++page)
    EXPECT_EQ(rig.state_of(page) == State::near, page == 4 || page == 5) << page;
}

TEST(Eviction, CopiesPagesOfItsOwnWhereTheyAreSharedSinceAFork) {
  PartsRig rig({.limit = 64});
  fill(rig, 1);
  rig.pages()[rig.place(0)].shared = true;
  EXPECT_EQ(rig.parts.eviction.evict(), 0U);
  rig.parts.state.has_forked = true;
  (void)rig.parts.eviction.evict();
  EXPECT_EQ(rig.count(Count::evictions), 1U);
}

TEST(Eviction, CopiesPagesOutWhereTheKernelCannotMoveThem) {
  PartsRig rig({.limit = 64, .eviction = os::Eviction::copy});
  fill(rig, 16);
  rig.pages()[rig.place(3)].locked = true;
  (void)rig.parts.eviction.evict();
  EXPECT_EQ(rig.count(Count::evictions), 15U);
  EXPECT_EQ(rig.state_of(3), State::near);
  EXPECT_FALSE(rig.pages().at(rig.place(3)).write_protected);
  rig.parts.eviction.drain_all();
  for (PageNumber page = 0; page < 16; ++page)
    EXPECT_EQ(rig.state_of(page), page == 3 ? State::near : State::far);
}

TEST(Eviction, CopiesPagesOutAndForgetsOneOfAMappingThatIsNotItsOwnAnyMore) {
  PartsRig rig({.limit = 64, .eviction = os::Eviction::copy});
  fill(rig, 16);
  rig.pages()[rig.place(9)].registered = false;  // another mapping, past the library
  (void)rig.parts.eviction.evict();
  EXPECT_EQ(rig.count(Count::evictions), 15U);
  EXPECT_EQ(rig.state_of(9), State::fresh);
}

TEST(Eviction, ForgetsADroppedPageWhereItWouldBeCopied) {
  PartsRig rig({.limit = 64, .eviction = os::Eviction::copy});
  fill(rig, 1);
  rig.memory().advise(rig.place(0), os::page_bytes, MADV_DONTNEED);
  EXPECT_EQ(rig.parts.eviction.evict(), 0U);
  EXPECT_EQ(rig.state_of(0), State::fresh);
  EXPECT_FALSE(rig.pages().at(rig.place(0)).present);
}

TEST(Eviction, GrantsAFewPagesBeyondTheLimitBeforeItLooksForRoomAgain) {
  PartsRig rig({.limit = 64});
  fill(rig, 32);
  for (PageNumber page = 0; page < 32; ++page) rig.pages()[rig.place(page)].refuses_move = -EBUSY;
  rig.parts.state.budget.charge(rig.parts.state.budget.free());
  rig.pages().records = true;
  EXPECT_FALSE(rig.parts.eviction.reserve(1));
  const std::size_t asked = rig.pages().count(FakePages::Call::Kind::move);
  EXPECT_GT(asked, 0U);
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());  // not for a while, either
  EXPECT_EQ(rig.pages().count(FakePages::Call::Kind::move), asked);
  for (int i = 0; i < 64; ++i) EXPECT_FALSE(rig.parts.eviction.reserve(1));
  EXPECT_EQ(rig.pages().count(FakePages::Call::Kind::move), asked);
  rig.memory().now += 20'000'000;
  EXPECT_FALSE(rig.parts.eviction.reserve(1));
  EXPECT_GT(rig.pages().count(FakePages::Call::Kind::move), asked);
}

void evict_all(PartsRig& rig) {
  while (rig.parts.eviction.evict() != 0) {
  }
}

/// Of 240 resident pages the first 200 cannot leave; the others have left.
void leave_immovable(PartsRig& rig) {
  fill(rig, 240);
  for (PageNumber page = 0; page < 200; ++page) rig.pages()[rig.place(page)].refuses_move = -EINVAL;
  evict_all(rig);
  ASSERT_EQ(rig.count(Count::evictions), 40U);
}

TEST(Eviction, AsksPagesThatCannotLeaveLessOftenEachTimeInARow) {
  PartsRig rig({.limit = 1024});
  leave_immovable(rig);
  for (const std::uint64_t wait_ns : {100'000U, 200'000U, 400'000U}) {
    const std::uint64_t asked = rig.count(Count::pinned);
    rig.memory().now += wait_ns - 1;
    evict_all(rig);
    EXPECT_EQ(rig.count(Count::pinned), asked) << wait_ns;
    rig.memory().now += 1;
    evict_all(rig);
    EXPECT_EQ(rig.count(Count::pinned), asked + 200) << wait_ns;
  }
}

TEST(Eviction, TakesPagesThatMayLeaveWhileOthersThatCannotAreLeftAlone) {
  PartsRig rig({.limit = 1024});
  leave_immovable(rig);
  const std::uint64_t asked = rig.count(Count::pinned);
  for (PageNumber page = 240; page < 340; ++page) rig.bring_in(page, page);
  evict_all(rig);
  EXPECT_EQ(rig.count(Count::evictions), 140U);
  EXPECT_EQ(rig.count(Count::pinned), asked);
}

TEST(Eviction, TakesPagesThatCouldNotLeaveOnceTheyCan) {
  PartsRig rig({.limit = 1024});
  leave_immovable(rig);
  for (PageNumber page = 0; page < 200; ++page) rig.pages()[rig.place(page)].refuses_move = 0;
  rig.memory().now += 100'000;
  evict_all(rig);
  EXPECT_EQ(rig.count(Count::evictions), 240U);
}

/// Another process of the tree has so many pages of the budget.
void join_other(PartsRig& rig, std::int32_t process, std::uint64_t pages) {
  Control& control = rig.control();
  control.members[1].process.store(process);
  control.members[1].near_pages.store(pages);
  control.members_end.store(2);
  control.near_total.fetch_add(pages);
}

/// The number of a process that has ended.
std::int32_t ended_process() {
  const pid_t ended = ::fork();
  if (ended == 0) std::_Exit(0);
  ::waitpid(ended, nullptr, 0);
  return ended;
}

TEST(Eviction, TakesTheRoomOfAProcessThatHasEndedBeforeItsOwnPagesLeave) {
  PartsRig rig({.limit = 64});
  fill(rig, 8);
  join_other(rig, ended_process(), rig.parts.state.budget.free());
  EXPECT_TRUE(rig.parts.eviction.reserve(4));
  EXPECT_EQ(rig.parts.state.budget.others(), 0U);
  EXPECT_EQ(rig.count(Count::evictions), 0U);
}

TEST(Eviction, TakesTheRoomOfAProcessThatHasEndedInTheBackground) {
  PartsRig rig({.limit = 128});
  fill(rig, 40);
  join_other(rig, ended_process(), rig.parts.state.budget.free());
  EXPECT_TRUE(rig.parts.eviction.evict_in_background());
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());
  EXPECT_EQ(rig.count(Count::evictions), 0U);
}

TEST(Eviction, AsksNowAndThenWhetherProcessesHaveEnded) {
  PartsRig rig({.limit = 128});
  fill(rig, 40);
  join_other(rig, ::getppid(), rig.parts.state.budget.free());
  int naps = 0;
  EXPECT_TRUE(rig.parts.eviction.make_room(naps));
  rig.control().members[1].process.store(ended_process());
  EXPECT_TRUE(rig.parts.eviction.make_room(naps));
  EXPECT_NE(rig.parts.state.budget.others(), 0U);
  rig.memory().now += 20'000'000;
  const std::uint64_t evictions = rig.count(Count::evictions);
  EXPECT_TRUE(rig.parts.eviction.make_room(naps));
  EXPECT_EQ(rig.parts.state.budget.others(), 0U);
  EXPECT_EQ(rig.count(Count::evictions), evictions);
}

TEST(Eviction, TakesTheRoomOfAProcessThatEndsWhileItIsWaitedFor) {
  PartsRig rig({.limit = 64});
  fill(rig, 8);
  for (PageNumber page = 0; page < 8; ++page) rig.pages()[rig.place(page)].refuses_move = -EBUSY;
  join_other(rig, ::getppid(), rig.parts.state.budget.free());
  int naps = 0;
  EXPECT_TRUE(rig.parts.eviction.make_room(naps));
  rig.control().members[1].process.store(ended_process());
  rig.pages().records = true;
  const std::uint64_t charged = rig.charged();
  EXPECT_TRUE(rig.parts.eviction.reserve(4, os::Waking::later));
  EXPECT_EQ(rig.charged(), charged + 4);
  EXPECT_EQ(rig.parts.state.budget.others(), 0U);
  // Threads whose pages have come did not wait for that.
  EXPECT_EQ(rig.pages().count(FakePages::Call::Kind::wake), 1U);
}

TEST(Eviction, LetsOthersGiveWayInTheBackgroundWhereItHasNoMoreThanAFairPart) {
  PartsRig rig({.limit = 128});
  fill(rig, 40);
  join_other(rig, 1, rig.parts.state.budget.free());
  rig.parts.state.budget.charge(64 - rig.charged());
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());
  rig.parts.state.budget.charge(1);
  EXPECT_TRUE(rig.parts.eviction.evict_in_background());
}

TEST(Eviction, GivesWayToAProcessThatAsks) {
  PartsRig rig({.limit = 128});
  fill(rig, 40);
  join_other(rig, 1, 1);
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());
  rig.parts.state.budget.want(rig.parts.state.budget.free() + 8);
  EXPECT_TRUE(rig.parts.eviction.evict_in_background());
}

TEST(Eviction, BeginsInTheBackgroundBelowTheLowWatermark) {
  PartsRig rig({.limit = 128});
  fill(rig, 40);
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());
  rig.parts.state.budget.charge(rig.parts.state.budget.free() - 1);
  rig.parts.state.keeps_near = true;
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());
  rig.parts.state.keeps_near = false;
  rig.parts.eviction.set_forking(true);
  EXPECT_FALSE(rig.parts.eviction.evict_in_background());
  rig.parts.eviction.set_forking(false);
  EXPECT_TRUE(rig.parts.eviction.evict_in_background());
}

}  // namespace test_file
}  // namespace nearfar::tier

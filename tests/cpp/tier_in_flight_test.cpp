// Several threads that serve their faults at once: the pages in copy, and the lock.

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "tier/pager/in_flight.h"
#include "tier/service/lock.h"

namespace nearfar::tier {
namespace {

/// Where there is no userfaultfd, no page comes.
void be_over(PageCopy& copying) {
  EXPECT_FALSE(copying.copy.is_over());
  EXPECT_FALSE(os::KernelUffd().run(copying.copy));
  EXPECT_TRUE(copying.copy.is_over());
  EXPECT_FALSE(copying.copy.has_come());
}

TEST(InFlight, EachPageIsInFlightOnce) {
  InFlight copies;
  PageCopy* const seventh = copies.add(7);
  ASSERT_NE(seventh, nullptr);
  ASSERT_NE(copies.add(0), nullptr);
  EXPECT_EQ(copies.add(7), nullptr);
  copies.give_up(*seventh);
  EXPECT_EQ(copies.add(0), nullptr);
  EXPECT_NE(copies.add(7), nullptr);
}

TEST(InFlight, FinishedCopiesAreCompleted) {
  InFlight copies;
  std::array<PageCopy*, 3> all{};
  for (PageNumber page = 0; page < all.size(); ++page) {
    all[page] = copies.add(page);
    ASSERT_NE(all[page], nullptr);
  }
  std::vector<PageNumber> completed;
  const auto complete = [&] {
    copies.complete([&](const PageCopy& copying) { completed.push_back(copying.page); });
  };
  complete();
  EXPECT_TRUE(completed.empty());
  be_over(*all[2]);
  be_over(*all[0]);
  complete();
  complete();
  EXPECT_EQ(completed, (std::vector<PageNumber>{0, 2}));
  EXPECT_TRUE(copies.any_unfinished());
  be_over(*all[1]);
  EXPECT_FALSE(copies.any_unfinished());
  EXPECT_TRUE(copies.any());
  complete();
  EXPECT_FALSE(copies.any());
}

TEST(InFlight, ThePlaceOfACopyIsKeptUntilItIsLeft) {
  InFlight copies;
  std::array<PageCopy*, InFlight::most> all{};
  for (PageNumber page = 0; page < InFlight::most; ++page) {
    all[page] = copies.add(page);
    ASSERT_NE(all[page], nullptr);
  }
  EXPECT_EQ(copies.add(InFlight::most), nullptr);
  PageCopy& one = *all[InFlight::most / 2];
  be_over(one);
  copies.complete([](const PageCopy&) {});
  EXPECT_EQ(copies.add(InFlight::most), nullptr);
  one.left.store(true);
  EXPECT_EQ(copies.add(InFlight::most), &one);
  EXPECT_EQ(copies.add(InFlight::most - 1), nullptr);
}

TEST(InFlight, AChildHasNoCopyInFlight) {
  InFlight copies;
  for (PageNumber page = 0; page < InFlight::most; ++page) ASSERT_NE(copies.add(page), nullptr);
  copies.clear();
  EXPECT_FALSE(copies.any());
  for (PageNumber page = 0; page < InFlight::most; ++page) EXPECT_NE(copies.add(page), nullptr);
}

TEST(Lock, TheLockLetsOneInAtATime) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t turns = 20000;
  static Lock lock;
  std::size_t count = 0;  // not atomic: two at once would lose some
  const auto take_turns = [&](bool soon) {
    for (std::size_t i = 0; i < turns; ++i) {
      if (soon) {
        lock.lock_soon();
      } else {
        lock.lock();
      }
      if (i % 64 == 0) lock.hold_for_long();
      ++count;
      lock.unlock();
    }
  };
  std::array<std::thread, threads> all;
  for (std::size_t i = 0; i < threads; ++i) all[i] = std::thread(take_turns, i % 2 == 0);
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(count, threads * turns);
  EXPECT_TRUE(lock.try_lock());
}

TEST(Lock, TheLockIsNotTakenTwiceHoweverLongItIsHeld) {
  static Lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.hold_for_long();
  EXPECT_FALSE(lock.try_lock());
  EXPECT_FALSE(lock.lock_unless_for_long());
  lock.unlock();
  EXPECT_TRUE(lock.lock_unless_for_long());
  lock.free_in_child();
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace nearfar::tier

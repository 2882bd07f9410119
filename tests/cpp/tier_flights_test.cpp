// Several threads that serve their faults at once: whose pages are in flight, and the lock.

#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tier/in_flight.h"
#include "tier/lock.h"

namespace nearfar::tier {
namespace {

TEST(InFlight, HasEachPageOnce) {
  InFlight flights;
  EXPECT_TRUE(flights.add(7));
  EXPECT_TRUE(flights.add(0));
  EXPECT_FALSE(flights.add(7));
  EXPECT_EQ(flights.count(), 2U);
  flights.remove(7);
  EXPECT_FALSE(flights.add(0));
  EXPECT_TRUE(flights.add(7));
  flights.remove(0);
  flights.remove(7);
  EXPECT_FALSE(flights.any());
}

TEST(InFlight, TakesNoMoreThanItHasRoomFor) {
  InFlight flights;
  for (PageNumber page = 0; page < InFlight::most; ++page) EXPECT_TRUE(flights.add(page));
  EXPECT_FALSE(flights.add(InFlight::most));
  flights.remove(InFlight::most / 2);
  EXPECT_TRUE(flights.add(InFlight::most));
  EXPECT_FALSE(flights.add(InFlight::most - 1));
}

TEST(InFlight, HasNoneInAChild) {
  InFlight flights;
  EXPECT_TRUE(flights.add(1));
  flights.clear();
  EXPECT_FALSE(flights.any());
  EXPECT_TRUE(flights.add(1));
}

TEST(Lock, LetsOneInAtATime) {
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

TEST(Lock, IsNotHadTwiceHoweverLongItIsHeld) {
  static Lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.hold_for_long();
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.free_in_child();
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace nearfar::tier

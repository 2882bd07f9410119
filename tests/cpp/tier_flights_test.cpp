// Several threads that serve their faults at once: whose pages are in flight, and the lock.

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "tier/pager/in_flight.h"
#include "tier/service/lock.h"

namespace nearfar::tier {
namespace {

/// Where there is no userfaultfd, no page comes.
void be_over(Flight& flight) {
  EXPECT_FALSE(flight.copy.is_over());
  EXPECT_FALSE(os::Uffd().run(flight.copy));
  EXPECT_TRUE(flight.copy.is_over());
  EXPECT_FALSE(flight.copy.has_come());
}

TEST(InFlight, HasEachPageOnce) {
  InFlight flights;
  Flight* const seventh = flights.add(7);
  ASSERT_NE(seventh, nullptr);
  ASSERT_NE(flights.add(0), nullptr);
  EXPECT_EQ(flights.add(7), nullptr);
  flights.give_up(*seventh);
  EXPECT_EQ(flights.add(0), nullptr);
  EXPECT_NE(flights.add(7), nullptr);
}

TEST(InFlight, LandsThoseThatAreOver) {
  InFlight flights;
  std::array<Flight*, 3> all{};
  for (PageNumber page = 0; page < all.size(); ++page) {
    all[page] = flights.add(page);
    ASSERT_NE(all[page], nullptr);
  }
  std::vector<PageNumber> landed;
  const auto land = [&] {
    flights.land([&](const Flight& flight) { landed.push_back(flight.page); });
  };
  land();
  EXPECT_TRUE(landed.empty());
  be_over(*all[2]);
  be_over(*all[0]);
  land();
  land();
  EXPECT_EQ(landed, (std::vector<PageNumber>{0, 2}));
  EXPECT_TRUE(flights.any_aloft());
  be_over(*all[1]);
  EXPECT_FALSE(flights.any_aloft());
  EXPECT_TRUE(flights.any());
  land();
  EXPECT_FALSE(flights.any());
}

TEST(InFlight, KeepsThePlaceOfOneThatHasNotBeenLeft) {
  InFlight flights;
  std::array<Flight*, InFlight::most> all{};
  for (PageNumber page = 0; page < InFlight::most; ++page) {
    all[page] = flights.add(page);
    ASSERT_NE(all[page], nullptr);
  }
  EXPECT_EQ(flights.add(InFlight::most), nullptr);
  Flight& one = *all[InFlight::most / 2];
  be_over(one);
  flights.land([](const Flight&) {});
  EXPECT_EQ(flights.add(InFlight::most), nullptr);
  one.left.store(true);
  EXPECT_EQ(flights.add(InFlight::most), &one);
  EXPECT_EQ(flights.add(InFlight::most - 1), nullptr);
}

TEST(InFlight, HasNoneInAChild) {
  InFlight flights;
  for (PageNumber page = 0; page < InFlight::most; ++page) ASSERT_NE(flights.add(page), nullptr);
  flights.clear();
  EXPECT_FALSE(flights.any());
  for (PageNumber page = 0; page < InFlight::most; ++page) EXPECT_NE(flights.add(page), nullptr);
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
  EXPECT_FALSE(lock.lock_unless_for_long());
  lock.unlock();
  EXPECT_TRUE(lock.lock_unless_for_long());
  lock.free_in_child();
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace nearfar::tier

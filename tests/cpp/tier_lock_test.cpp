// The lock of the pager: one thread holds it, and others sleep until it is free.

#include "tier/service/lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace nearfar::tier {
namespace test_file {

TEST(TierLock, IsHeldByOneThreadAtATime) {
  Lock lock{};
  int inside = 0;
  int most = 0;
  int total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 2000; ++n) {
        const std::lock_guard guard(lock);
        most = std::max(most, ++inside);
        ++total;
        --inside;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(total, 8000);
}

TEST(TierLock, IsTriedInVainWhileItIsHeld) {
  Lock lock{};
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
}

TEST(TierLock, IsNotWaitedForByAThreadThatWouldWaitForLong) {
  Lock lock{};
  lock.lock();
  lock.hold_for_long();
  EXPECT_FALSE(lock.lock_unless_for_long());
  lock.unlock();
  EXPECT_TRUE(lock.lock_unless_for_long());
}

TEST(TierLock, IsTakenByAThreadThatSleptWhileItWasHeldForLong) {
  Lock lock{};
  lock.lock();
  lock.hold_for_long();
  std::atomic<bool> taken{false};
  std::thread other([&] {
    lock.lock_soon();
    taken.store(true);
    lock.unlock();
  });
  EXPECT_FALSE(taken.load());
  lock.unlock();
  other.join();
  EXPECT_TRUE(taken.load());
}

TEST(TierLock, IsFreeInAForkedChildThoughAnotherThreadOfTheParentHeldIt) {
  Lock lock{};
  lock.lock();
  lock.free_in_child();
  EXPECT_TRUE(lock.try_lock());
}

TEST(TierLock, IsWaitedForWithoutBeingTaken) {
  Lock lock{};
  lock.wait_until_free();
  lock.lock();
  std::atomic<int> passed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      lock.wait_until_free();
      passed.fetch_add(1);
    });
  threads.emplace_back([&] {
    lock.lock();  // none of the wake-ups for those that only wait is lost for this one
    passed.fetch_add(1);
    lock.unlock();
  });
  EXPECT_EQ(passed.load(), 0);
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed.load(), 4);
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace test_file
}  // namespace nearfar::tier

// The lock of the pager, copies of pages that are made without it, and room that is made for many.

#include "tier/service/pager_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace nearfar::tier {
namespace test_file {

/// Copies whose ends the test decides.
class Copies {
 public:
  PageCopy& begin() { return *all_.add(next_++); }
  /// As the kernel says that a copy is over.
  static void finish(PageCopy& copy) { copy.copy.finish(-EBADF); }
  [[nodiscard]] const InFlight& all() const { return all_; }
  void complete() {
    all_.complete([this](PageCopy&) { ++completed_; });
  }
  [[nodiscard]] int completed() const { return completed_; }

 private:
  InFlight all_;
  PageNumber next_ = 1;
  int completed_ = 0;
};

class TierPagerLock : public testing::Test {
 protected:
  void SetUp() override {
    lock_.start();
    lock_.lock().lock();
  }
  void wait_for_copies() {
    lock_.wait_for_copies(copies_.all(), [this] { copies_.complete(); });
  }

  PagerLock lock_;
  Copies copies_;
};

TEST_F(TierPagerLock, DoesNotWaitWithoutCopies) {
  wait_for_copies();
  EXPECT_FALSE(lock_.lock().try_lock()) << "it was held all the time";
  EXPECT_TRUE(lock_.may_copy());
}

TEST_F(TierPagerLock, CompletesCopiesThatAreOver) {
  Copies::finish(copies_.begin());
  wait_for_copies();
  EXPECT_EQ(copies_.completed(), 1);
}

TEST_F(TierPagerLock, IsFreeWhileACopyEndsAndLetsNoOtherBegin) {
  PageCopy& copy = copies_.begin();
  std::atomic<bool> may_begin{true};
  std::thread other([&] {
    lock_.lock().lock();
    may_begin.store(lock_.may_copy());
    Copies::finish(copy);
    lock_.lock().unlock();
    lock_.leave_copy();
  });
  wait_for_copies();
  other.join();
  EXPECT_EQ(copies_.completed(), 1);
  EXPECT_FALSE(may_begin.load());
  EXPECT_TRUE(lock_.may_copy());
  EXPECT_FALSE(lock_.lock().try_lock()) << "it is held again";
}

TEST_F(TierPagerLock, IsTakenForAFaultAsSoonAsItIsFree) {
  lock_.lock().unlock();
  lock_.lock_for_fault();
  EXPECT_FALSE(lock_.lock().try_lock());
}

TEST_F(TierPagerLock, LetsFaultsSleepUntilRoomWasMade) {
  lock_.lock().hold_for_long();
  std::atomic<int> served{0};
  const auto fault = [&] {
    lock_.lock_for_fault();
    served.fetch_add(1);
    lock_.lock().unlock();
  };
  std::thread one(fault);
  std::thread two(fault);
  EXPECT_EQ(served.load(), 0);
  lock_.unlock_after_making_room(2);
  one.join();
  two.join();
  EXPECT_EQ(served.load(), 2);
  lock_.wait_until_free();
}

}  // namespace test_file
}  // namespace nearfar::tier

// The program's threads that fault: which of them is kept on one processor, and where they may run
// when they are released.

#include "tier/service/faulting_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "sleeper.h"
#include "tier/os/system.h"

namespace nearfar::tier {
namespace test_file {

using News = tier::FaultingThreads::News;

class FaultingThreads : public testing::Test {
 protected:
  void SetUp() override {
    allowed_ = os::cpus_of(0);
    if (allowed_.count() < 2) GTEST_SKIP() << "this process may run on one processor only";
    while (!allowed_.has(first_)) ++first_;
    second_ = first_ + 1;
    while (!allowed_.has(second_)) ++second_;
    threads_.start();
  }
  void fault(const Sleeper& thread, unsigned times = tier::FaultingThreads::often) {
    for (; times > 0; --times) static_cast<void>(threads_.add_fault(thread.number()));
  }
  [[nodiscard]] bool is_kept(const Sleeper& thread) const {
    return thread.cpus() == os::Cpus::only(first_);
  }
  [[nodiscard]] bool is_free(const Sleeper& thread) const { return thread.cpus() == allowed_; }

  tier::FaultingThreads threads_;
  os::Cpus allowed_;
  int first_ = 0;
  int second_ = 0;
};

TEST_F(FaultingThreads, FaultingThreadsAreKeptFromTheirSecondFaultOn) {
  const Sleeper often;
  const Sleeper once;
  const Sleeper never;
  EXPECT_EQ(threads_.add_fault(often.number()), News::none);
  EXPECT_EQ(threads_.add_fault(once.number()), News::none);
  EXPECT_EQ(threads_.add_fault(often.number()), News::joined);
  EXPECT_EQ(threads_.add_fault(often.number()), News::none) << "it is told once";
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(often));
  EXPECT_TRUE(is_free(once));
  EXPECT_TRUE(is_free(never));
  EXPECT_EQ(threads_.kept().load(), 1U);
  threads_.release_all();
  EXPECT_TRUE(is_free(often));
  EXPECT_EQ(threads_.kept().load(), 0U);
}

TEST_F(FaultingThreads, FaultingThreadsGoToAnotherProcessorWithThePager) {
  const Sleeper sleeper;
  fault(sleeper);
  threads_.keep_on({&first_, 1});
  threads_.keep_on({&second_, 1});
  EXPECT_EQ(sleeper.cpus(), os::Cpus::only(second_));
  EXPECT_EQ(threads_.kept().load(), 1U);
  threads_.release_all();
  EXPECT_TRUE(is_free(sleeper)) << "as before the first processor, not as before the second";
}

TEST_F(FaultingThreads, FaultingThreadsAreAsManyOnOneProcessorAsOnAnother) {
  const std::array<Sleeper, 4> sleepers;
  for (const Sleeper& sleeper : sleepers) fault(sleeper);
  const std::array<int, 2> both{first_, second_};
  threads_.keep_on(both);
  const auto on_first = std::count_if(sleepers.begin(), sleepers.end(),
                                      [&](const Sleeper& sleeper) { return is_kept(sleeper); });
  EXPECT_EQ(on_first, 2);
  EXPECT_EQ(threads_.kept().load(), 4U);
  std::array<std::size_t, 2> by_position{};
  for (const Sleeper& sleeper : sleepers) {
    fault(sleeper, 1);
    const std::size_t at = threads_.last_kept();
    ASSERT_LT(at, both.size());
    EXPECT_EQ(sleeper.cpus(), os::Cpus::only(both[at]));
    ++by_position[at];
  }
  EXPECT_EQ(by_position[0], by_position[1]);
  const Sleeper unknown;
  fault(unknown, 1);
  EXPECT_EQ(threads_.last_kept(), tier::FaultingThreads::nowhere);
  threads_.forget_all();
}

TEST_F(FaultingThreads, FaultingThreadsAreSpreadAgainWhenAllOnOneProcessorHaveEnded) {
  std::array<std::unique_ptr<Sleeper>, 4> sleepers;
  for (auto& sleeper : sleepers) {
    sleeper = std::make_unique<Sleeper>();
    fault(*sleeper);
  }
  const std::array<int, 2> both{first_, second_};
  threads_.keep_on(both);
  threads_.release_idle(0);  // from here on they are counted
  std::vector<const Sleeper*> left;
  for (auto& sleeper : sleepers) {
    if (!is_kept(*sleeper)) {
      left.push_back(sleeper.get());
      fault(*sleeper);
    } else {
      sleeper.reset();
    }
  }
  ASSERT_EQ(left.size(), 2U);
  threads_.release_idle(1);
  EXPECT_EQ(threads_.kept().load(), 2U);
  threads_.keep_on(both);
  EXPECT_EQ(threads_.kept().load(), 2U);
  EXPECT_NE(is_kept(*left[0]), is_kept(*left[1]));
  for (const Sleeper* const sleeper : left) EXPECT_EQ(sleeper->cpus().count(), 1U);
  threads_.forget_all();
}

TEST_F(FaultingThreads, FaultingThreadsStayThereIfTheProgramMovesOneOfThem) {
  const Sleeper own;
  const Sleeper later;
  ASSERT_TRUE(os::run_on(own.number(), os::Cpus::only(second_)));
  fault(own);
  fault(later);
  threads_.keep_on({&first_, 1});
  EXPECT_EQ(own.cpus(), os::Cpus::only(second_));
  EXPECT_EQ(threads_.kept().load(), 1U);
  ASSERT_TRUE(os::run_on(later.number(), os::Cpus::only(second_)));
  threads_.release_all();
  EXPECT_EQ(later.cpus(), os::Cpus::only(second_));
}

TEST_F(FaultingThreads, FaultingThreadsAreReleasedWhenTheyFaultLittleBesideOthers) {
  const Sleeper busy;
  const Sleeper idle;
  fault(busy);
  fault(idle);
  threads_.keep_on({&first_, 1});
  threads_.release_idle(0);  // from here on they are counted
  fault(busy, 10);
  fault(idle, 1);
  threads_.release_idle(5);
  EXPECT_TRUE(is_kept(busy));
  EXPECT_TRUE(is_free(idle));
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(idle)) << "it is not known any more";
  fault(idle);
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(idle));
  threads_.forget_all();
}

TEST_F(FaultingThreads, FaultingThreadsAreNotKeptWhileTheProgramHasThemReleased) {
  const Sleeper sleeper;
  fault(sleeper);
  threads_.begin_release();
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(sleeper));
  threads_.end_release();
  std::this_thread::sleep_for(std::chrono::nanoseconds(threads_.first_rest_ns));
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(sleeper));
  threads_.release_all();
  threads_.release_for_a_while();
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(sleeper));
}

TEST_F(FaultingThreads, FaultingThreadsThatWereKeptBeforeHaveNotJoined) {
  const Sleeper sleeper;
  const Sleeper other;
  fault(sleeper);
  threads_.forget_all();
  EXPECT_EQ(threads_.add_fault(sleeper.number()), News::none);
  EXPECT_EQ(threads_.add_fault(sleeper.number()), News::again);
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(sleeper));
  fault(other, tier::FaultingThreads::often - 1);
  EXPECT_EQ(threads_.add_fault(other.number()), News::joined);
  threads_.release_all();
  threads_.start();
  EXPECT_EQ(threads_.add_fault(sleeper.number()), News::none);
  EXPECT_EQ(threads_.add_fault(sleeper.number()), News::joined) << "of another process";
}

TEST_F(FaultingThreads, FaultingThreadsThatHaveEndedAreForgotten) {
  auto sleeper = std::make_unique<Sleeper>();
  fault(*sleeper);
  const int number = sleeper->number();
  sleeper.reset();
  // Its number may still be its own for a moment.
  while (os::call(__NR_tgkill, getpid(), number, 0) != -ESRCH) usleep(100);
  threads_.keep_on({&first_, 1});
  EXPECT_EQ(threads_.kept().load(), 0U);
  EXPECT_EQ(threads_.add_fault(number), News::none) << "as another's first fault";
}

TEST_F(FaultingThreads, FaultingThreadsBeyondTheRoomForThemRunWhereTheyDid) {
  for (std::size_t i = 0; i < tier::FaultingThreads::most; ++i)
    EXPECT_EQ(threads_.add_fault(1'000'000'000 + static_cast<int>(i)), News::none);
  const Sleeper sleeper;
  fault(sleeper);
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(sleeper));
}

}  // namespace test_file
}  // namespace nearfar::tier

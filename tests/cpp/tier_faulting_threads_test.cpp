// The program's threads that fault: which of them is kept on one processor, and where they may run
// when they are let go.

#include "tier/service/faulting_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tier/os/system.h"

namespace nearfar::tier {
namespace test_file {

/// A thread that sleeps, and ends with the test.
class Sleeper {
 public:
  Sleeper()
      : thread_([this] {
          number_.store(gettid());
          number_.notify_one();
          over_.wait(false);
        }) {
    number_.wait(0);
  }
  ~Sleeper() {
    over_.store(true);
    over_.notify_one();
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  [[nodiscard]] int number() const { return number_.load(); }
  [[nodiscard]] os::Cpus cpus() const { return os::cpus_of(number()); }

 private:
  std::atomic<int> number_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

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
    for (; times > 0; --times) static_cast<void>(threads_.faulted(thread.number()));
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
  EXPECT_EQ(threads_.faulted(often.number()), News::none);
  EXPECT_EQ(threads_.faulted(once.number()), News::none);
  EXPECT_EQ(threads_.faulted(often.number()), News::joined);
  EXPECT_EQ(threads_.faulted(often.number()), News::none) << "it is told once";
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(often));
  EXPECT_TRUE(is_free(once));
  EXPECT_TRUE(is_free(never));
  EXPECT_EQ(threads_.kept().load(), 1U);
  threads_.let_all_go();
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
  threads_.let_all_go();
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
  threads_.let_idle_go(0);  // from here on they are counted
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
  threads_.let_idle_go(1);
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
  threads_.let_all_go();
  EXPECT_EQ(later.cpus(), os::Cpus::only(second_));
}

TEST_F(FaultingThreads, FaultingThreadsAreLetGoWhenTheyFaultLittleBesideOthers) {
  const Sleeper busy;
  const Sleeper idle;
  fault(busy);
  fault(idle);
  threads_.keep_on({&first_, 1});
  threads_.let_idle_go(0);  // from here on they are counted
  fault(busy, 10);
  fault(idle, 1);
  threads_.let_idle_go(5);
  EXPECT_TRUE(is_kept(busy));
  EXPECT_TRUE(is_free(idle));
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(idle)) << "it is not known any more";
  fault(idle);
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(idle));
  threads_.forget_all();
}

TEST_F(FaultingThreads, FaultingThreadsAreNotKeptWhileTheProgramHoldsThem) {
  const Sleeper sleeper;
  fault(sleeper);
  threads_.hold_until_release();
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(sleeper));
  threads_.release();
  std::this_thread::sleep_for(std::chrono::nanoseconds(threads_.first_rest_ns));
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(sleeper));
  threads_.let_all_go();
  threads_.hold();
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(sleeper));
}

TEST_F(FaultingThreads, FaultingThreadsThatWereKeptBeforeHaveNotJoined) {
  const Sleeper sleeper;
  const Sleeper other;
  fault(sleeper);
  threads_.forget_all();
  EXPECT_EQ(threads_.faulted(sleeper.number()), News::none);
  EXPECT_EQ(threads_.faulted(sleeper.number()), News::again);
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_kept(sleeper));
  fault(other, tier::FaultingThreads::often - 1);
  EXPECT_EQ(threads_.faulted(other.number()), News::joined);
  threads_.let_all_go();
  threads_.start();
  EXPECT_EQ(threads_.faulted(sleeper.number()), News::none);
  EXPECT_EQ(threads_.faulted(sleeper.number()), News::joined) << "of another process";
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
  EXPECT_EQ(threads_.faulted(number), News::none) << "as another's first fault";
}

TEST_F(FaultingThreads, FaultingThreadsBeyondTheRoomForThemRunWhereTheyDid) {
  for (std::size_t i = 0; i < tier::FaultingThreads::most; ++i)
    EXPECT_EQ(threads_.faulted(1'000'000'000 + static_cast<int>(i)), News::none);
  const Sleeper sleeper;
  fault(sleeper);
  threads_.keep_on({&first_, 1});
  EXPECT_TRUE(is_free(sleeper));
}

}  // namespace test_file
}  // namespace nearfar::tier

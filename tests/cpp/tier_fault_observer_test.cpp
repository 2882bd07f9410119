// What the pager's threads see of faults, and when they have the affinity thread move them.

#include "tier/service/fault_observer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sleeper.h"

namespace nearfar::tier {
namespace test_file {

class TierFaultObserver : public testing::Test {
 protected:
  void SetUp() override {
    threads_.start();
    link_.start();
  }
  void start(PagerCpu wanted, AffinityLink::State state = AffinityLink::able) {
    observer_.start(wanted);
    link_.set_state(state);
  }
  /// One fault after another of a thread, each reported by itself; the affinity thread follows.
  bool faults(std::size_t count, int thread = 1000) {
    bool kept = false;
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<void>(observer_.add_fault(thread, 0));
      link_.signals_seen.store(link_.signals.load());
      kept = observer_.report_faults(now_ += 10'000, 1, 0);
    }
    return kept;
  }

  AffinityLink link_;
  FaultingThreads threads_;
  FaultObserver observer_{link_, threads_};
  std::uint64_t now_ = 1'000'000'000;
};

TEST_F(TierFaultObserver, SignalsTheAffinityThreadOnceThereAreFaultsToServe) {
  start(PagerCpu::automatic, AffinityLink::unknown);
  faults(FaultObserver::faults_before - 1);
  EXPECT_EQ(link_.signals.load(), 0U);
  faults(1);
  EXPECT_EQ(link_.signals.load(), 1U);
  faults(100);
  EXPECT_EQ(link_.signals.load(), 1U);
}

TEST_F(TierFaultObserver, HasThePagerMovedToWhereItIsWanted) {
  start(PagerCpu::same);
  faults(AffinityTrials::faults_before);
  EXPECT_EQ(link_.wanted.load(), PagerCpu::any);
  faults(2, 1234);
  EXPECT_EQ(link_.wanted.load(), PagerCpu::same);
  EXPECT_EQ(link_.faulting_thread.load(), 1234);
  EXPECT_FALSE(observer_.is_same_idle());
}

TEST_F(TierFaultObserver, TellsThatThePagerIsKeptAfterItWasMoved) {
  start(PagerCpu::same_idle);
  EXPECT_FALSE(faults(AffinityTrials::faults_before + 2));
  EXPECT_FALSE(observer_.is_same_idle()) << "it was not moved yet";
  link_.kept_on.store(1);
  EXPECT_TRUE(faults(1));
  EXPECT_TRUE(observer_.is_same_idle());
}

TEST_F(TierFaultObserver, LooksAgainAfterManyFaultsWhereTheThreadRuns) {
  start(PagerCpu::same);
  faults(AffinityTrials::faults_before + 2);
  const std::uint32_t signals = link_.signals.load();
  faults(FaultObserver::faults_between_looks);
  EXPECT_EQ(link_.signals.load(), signals + 1);
}

TEST_F(TierFaultObserver, LearnsNothingWhileThePagerIsBeingMoved) {
  start(PagerCpu::same);
  faults(AffinityTrials::faults_before);
  static_cast<void>(observer_.add_fault(1000, 0));
  link_.signal();  // not seen yet
  link_.kept_on.store(3);
  EXPECT_TRUE(observer_.report_faults(now_, 1, 0));
  EXPECT_EQ(link_.wanted.load(), PagerCpu::any);
}

TEST_F(TierFaultObserver, LetsThePagerRunAnywhereForAWhileAfterItStarved) {
  start(PagerCpu::same);
  faults(AffinityTrials::faults_before + 2);
  link_.starved.store(true);
  faults(1);
  EXPECT_FALSE(link_.starved.load());
  EXPECT_EQ(link_.wanted.load(), PagerCpu::any);
}

TEST_F(TierFaultObserver, WakesAPagerThatRests) {
  start(PagerCpu::same);
  faults(AffinityTrials::faults_before + 2);
  link_.rests.store(true);
  const std::uint32_t signals = link_.signals.load();
  faults(1);
  EXPECT_EQ(link_.signals.load(), signals + 1);
  EXPECT_FALSE(link_.rests.load());
}

TEST_F(TierFaultObserver, AsksForEachThreadThatJoinsTheOnesToBeKept) {
  start(PagerCpu::same_idle);
  faults(AffinityTrials::faults_before + 2);
  const std::uint32_t signals = link_.signals.load();
  faults(1, 2000);
  EXPECT_EQ(link_.signals.load(), signals);
  faults(1, 2000);
  EXPECT_EQ(link_.signals.load(), signals + 1) << "it has faulted twice";
}

TEST_F(TierFaultObserver, HandsAFaultToTheWorkerOnWhoseProcessorItsThreadIsKept) {
  start(PagerCpu::per_cpu);
  const os::Cpus allowed = os::cpus_of(0);
  if (allowed.count() < 2) GTEST_SKIP() << "this process may run on one processor only";
  std::array<int, 2> cpus{};
  std::size_t count = 0;
  for (int cpu = 0; count < 2; ++cpu)
    if (allowed.has(cpu)) cpus[count++] = cpu;
  const Sleeper one;
  const Sleeper two;
  for (int i = 0; i < 2; ++i)
    for (const Sleeper* const thread : {&one, &two})
      EXPECT_EQ(observer_.add_fault(thread->number(), 0), 0U);
  threads_.keep_on(cpus);
  link_.workers_in_use.store(2);
  const std::size_t first = observer_.add_fault(one.number(), 0);
  const std::size_t second = observer_.add_fault(two.number(), 0);
  EXPECT_NE(first, second);
  EXPECT_EQ(link_.workers[first].serves.load(), one.number());
  EXPECT_EQ(link_.workers[second].serves.load(), two.number());
  EXPECT_TRUE(observer_.wants_workers());
  threads_.forget_all();
}

TEST_F(TierFaultObserver, AsksWhereTheThreadIsThatDidNotFaultForAWhile) {
  start(PagerCpu::same);
  faults(AffinityTrials::faults_before + 2);
  observer_.report_idle();
  const std::uint32_t signals = link_.signals.load();
  link_.kept_on.store(1);
  link_.signals_seen.store(signals);
  observer_.report_idle();
  EXPECT_EQ(link_.signals.load(), signals + 1);
  link_.signals_seen.store(link_.signals.load());
  observer_.report_idle();
  EXPECT_EQ(link_.signals.load(), signals + 1) << "it was asked just now";
  now_ += FaultObserver::trusted_ns;
  faults(1);
  observer_.report_idle();
  EXPECT_EQ(link_.signals.load(), signals + 2);
}

TEST_F(TierFaultObserver, CountsThreadsThatFaultByTurns) {
  start(PagerCpu::automatic);
  for (std::size_t i = 0; i < 2 * FaultObserver::looked_at; ++i) faults(1, 1000 + (i % 2 == 0));
  EXPECT_TRUE(observer_.wants_workers());
  faults(2 * FaultObserver::looked_at, getpid());
  EXPECT_FALSE(observer_.wants_workers());
}

}  // namespace test_file
}  // namespace nearfar::tier

// Moving the pager's threads between processors, step by step, with threads of the test in the
// place of the pager's and the program's.

#include "tier/service/affinity_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "sleeper.h"
#include "tier/service/pager_affinity.h"

namespace nearfar::tier {
namespace test_file {

class TierAffinityThread : public testing::Test {
 protected:
  void SetUp() override {
    allowed_ = os::cpus_of(0);
    if (allowed_.count() < 2) GTEST_SKIP() << "this process may run on one processor only";
    if (!os::may_prefer_again()) GTEST_SKIP() << "this user may not leave SCHED_IDLE";
    while (!allowed_.has(first_)) ++first_;
    second_ = first_ + 1;
    while (!allowed_.has(second_)) ++second_;
    ASSERT_EQ(pipe2(faults_.data(), O_NONBLOCK | O_CLOEXEC), 0);
    threads_.start();
    link_.start();
    link_.workers[0].thread.store(pager_.number());
    thread_.start(faults_[0]);
    thread_.open();
    const int stat = os::open_stat(program_.number());
    while (!os::is_asleep(stat)) std::this_thread::yield();
    there_ = os::cpu_of(stat);
    close(stat);
    elsewhere_ = there_ == first_ ? second_ : first_;
    link_.faulting_thread.store(program_.number());
  }
  void TearDown() override {
    static_cast<void>(os::run_on(0, allowed_));
    for (const int end : faults_)
      if (end >= 0) close(end);
  }
  void want(PagerCpu cpu) {
    link_.wanted.store(cpu);
    thread_.obey();
  }
  void fault(const Sleeper& thread) {
    for (unsigned i = 0; i < FaultingThreads::often; ++i)
      static_cast<void>(threads_.add_fault(thread.number()));
  }
  [[nodiscard]] static int policy(const Sleeper& thread) {
    return sched_getscheduler(thread.number());
  }
  [[nodiscard]] bool is_on(const Sleeper& thread, int cpu) const {
    return thread.cpus() == os::Cpus::only(cpu);
  }
  /// A look at a time when as much has passed as after the pager was moved.
  void look() { thread_.look_after(); }

  AffinityLink link_;
  FaultingThreads threads_;
  AffinityThread thread_{link_, threads_};
  Sleeper pager_;
  Sleeper program_;
  os::Cpus allowed_;
  std::array<int, 2> faults_{-1, -1};
  int first_ = 0;  // of those that this process may run on
  int second_ = 0;
  int there_ = 0;  // where the program's thread sleeps
  int elsewhere_ = 0;
};

TEST_F(TierAffinityThread, FindsOutWhatItMayDo) {
  EXPECT_EQ(link_.state.load(), AffinityLink::unknown);
  thread_.obey();
  EXPECT_EQ(link_.state.load(), AffinityLink::able);
  EXPECT_EQ(link_.processors, allowed_.count());
}

TEST_F(TierAffinityThread, DoesNothingForAProgramWithAnotherSchedulingPolicy) {
  os::run_when_idle(pager_.number());
  thread_.obey();
  EXPECT_EQ(link_.state.load(), AffinityLink::unable);
  want(PagerCpu::same);
  EXPECT_EQ(link_.kept_on.load(), 0U);
}

TEST_F(TierAffinityThread, DoesNothingOnOneProcessor) {
  ASSERT_TRUE(os::run_on(pager_.number(), os::Cpus::only(first_)));
  thread_.obey();
  EXPECT_EQ(link_.state.load(), AffinityLink::unable);
}

TEST_F(TierAffinityThread, MovesThePagerBesideTheThreadThatFaultsAndBack) {
  want(PagerCpu::same);
  EXPECT_TRUE(is_on(pager_, there_));
  EXPECT_EQ(policy(pager_), SCHED_OTHER);
  EXPECT_EQ(link_.kept_on.load(), static_cast<std::uint32_t>(there_) + 1);
  EXPECT_FALSE(os::cpus_of(0).has(there_)) << "the affinity thread is elsewhere";
  want(PagerCpu::same);
  EXPECT_TRUE(is_on(pager_, there_)) << "as before";
  want(PagerCpu::any);
  EXPECT_EQ(pager_.cpus(), allowed_);
  EXPECT_EQ(os::cpus_of(0), allowed_);
  EXPECT_EQ(link_.kept_on.load(), 0U);
}

TEST_F(TierAffinityThread, MovesThePagerThereWithThePolicyForIdleProcessors) {
  want(PagerCpu::same_idle);
  EXPECT_TRUE(is_on(pager_, there_));
  EXPECT_EQ(policy(pager_), SCHED_IDLE);
  EXPECT_EQ(link_.kept_on.load(), static_cast<std::uint32_t>(there_) + 1);
  fault(program_);
  want(PagerCpu::same_idle);
  EXPECT_TRUE(is_on(program_, there_)) << "it is kept there, too";
  want(PagerCpu::same);
  EXPECT_EQ(policy(pager_), SCHED_OTHER);
  EXPECT_EQ(program_.cpus(), allowed_) << "it is released";
  want(PagerCpu::any);
  EXPECT_EQ(pager_.cpus(), allowed_);
}

TEST_F(TierAffinityThread, LeavesAPagerThatWasPutElsewhereMeanwhile) {
  want(PagerCpu::same);
  ASSERT_TRUE(os::run_on(pager_.number(), os::Cpus::only(elsewhere_)));
  want(PagerCpu::any);
  EXPECT_TRUE(is_on(pager_, elsewhere_));
  EXPECT_EQ(link_.kept_on.load(), 0U);
}

TEST_F(TierAffinityThread, ReleasesThePagerWhenTheThreadThatFaultedHasEnded) {
  want(PagerCpu::same);
  auto ended = std::make_unique<Sleeper>();
  const int number = ended->number();
  ended.reset();
  link_.faulting_thread.store(number);
  want(PagerCpu::same);
  while (link_.kept_on.load() != 0) {  // its number may still be its own for a moment
    link_.faulting_thread.store(0);
    want(PagerCpu::same);
    link_.faulting_thread.store(number);
    want(PagerCpu::same);
  }
  EXPECT_EQ(pager_.cpus(), allowed_);
}

TEST_F(TierAffinityThread, PutsAWorkerOnEachProcessorAndBack) {
  const Sleeper other;
  link_.workers[1].thread.store(other.number());
  link_.worker_count.store(2);
  want(PagerCpu::per_cpu);
  EXPECT_TRUE(is_on(pager_, first_));
  EXPECT_TRUE(is_on(other, second_));
  EXPECT_EQ(policy(other), SCHED_IDLE);
  EXPECT_EQ(link_.workers_in_use.load(), 2U);
  fault(program_);
  want(PagerCpu::per_cpu);
  EXPECT_EQ(program_.cpus().count(), 1U);
  want(PagerCpu::same);
  EXPECT_EQ(link_.workers_in_use.load(), 1U);
  EXPECT_EQ(other.cpus(), allowed_);
  EXPECT_EQ(policy(other), SCHED_OTHER);
  EXPECT_EQ(pager_.cpus().count(), 1U);
  want(PagerCpu::any);
}

TEST_F(TierAffinityThread, PutsNoWorkersAnywhereBeforeThereAreSeveral) {
  want(PagerCpu::per_cpu);
  EXPECT_EQ(link_.kept_on.load(), 0U);
  EXPECT_EQ(link_.workers_in_use.load(), 1U);
}

TEST_F(TierAffinityThread, ReleasesAllWhereAWorkerCannotBeMoved) {
  link_.workers[1].thread.store(1 << 30);  // no thread has such a number
  link_.worker_count.store(2);
  want(PagerCpu::per_cpu);
  EXPECT_EQ(pager_.cpus(), allowed_);
  EXPECT_EQ(link_.workers_in_use.load(), 1U);
}

TEST_F(TierAffinityThread, ReleasesAPagerThatStarvesWhileARequestWaits) {
  want(PagerCpu::same_idle);
  link_.unanswered.store(1);
  look();
  EXPECT_TRUE(link_.starved.load());
  EXPECT_EQ(link_.kept_on.load(), 0U);
}

TEST_F(TierAffinityThread, ReleasesAPagerThatStarvesWhileAThreadItServesSleeps) {
  want(PagerCpu::same_idle);
  link_.workers[0].serves.store(program_.number());
  look();
  EXPECT_TRUE(link_.starved.load());
}

TEST_F(TierAffinityThread, ReleasesAPagerThatStarvesWhileFaultsAreUnread) {
  want(PagerCpu::same_idle);
  ASSERT_EQ(write(faults_[1], "", 1), 1);
  look();
  EXPECT_TRUE(link_.starved.load());
}

TEST_F(TierAffinityThread, KeepsAPagerForWhichNoThreadWaits) {
  want(PagerCpu::same_idle);
  look();
  EXPECT_FALSE(link_.starved.load());
  EXPECT_NE(link_.kept_on.load(), 0U);
  link_.workers[0].served.fetch_add(1'000'000);
  link_.unanswered.store(1);
  look();
  EXPECT_FALSE(link_.starved.load()) << "it has served many faults since the last look";
  want(PagerCpu::any);
}

TEST_F(TierAffinityThread, ReleasesAPagerWithoutFaultsUntilThereAreAny) {
  want(PagerCpu::same_idle);
  for (std::uint64_t i = 0; i < AffinityThread::longest_quiet; ++i) look();
  EXPECT_TRUE(link_.rests.load());
  EXPECT_FALSE(link_.starved.load());
  EXPECT_EQ(link_.kept_on.load(), 0U);
}

TEST_F(TierAffinityThread, ReleasesThreadsThatFaultRarelyBesideOthers) {
  const Sleeper other;
  want(PagerCpu::same_idle);
  fault(program_);
  fault(other);
  want(PagerCpu::same_idle);
  ASSERT_EQ(threads_.kept().load(), 2U);
  threads_.release_idle(0);  // from here on faults are counted
  while (threads_.kept().load() == 2) {
    link_.workers[0].served.fetch_add(1'000'000);
    for (int i = 0; i < 10'000; ++i) static_cast<void>(threads_.add_fault(program_.number()));
    thread_.step();  // waits until it is time for a look
  }
  EXPECT_TRUE(is_on(program_, there_));
  EXPECT_EQ(other.cpus(), allowed_);
  want(PagerCpu::any);
}

TEST_F(TierAffinityThread, ReleasesTheProgramsThreadsWhenTheProgramAsks) {
  want(PagerCpu::same_idle);
  fault(program_);
  want(PagerCpu::same_idle);
  ASSERT_EQ(threads_.kept().load(), 1U);
  threads_.begin_release();
  thread_.obey();
  EXPECT_EQ(threads_.kept().load(), 0U);
  EXPECT_EQ(program_.cpus(), allowed_);
  want(PagerCpu::any);
}

TEST_F(TierAffinityThread, MakesNoMoreCallsAfterItWasStopped) {
  want(PagerCpu::same);
  link_.stop.store(true);
  thread_.obey();
  EXPECT_EQ(link_.state.load(), AffinityLink::stopped);
  EXPECT_EQ(pager_.cpus(), allowed_);
  want(PagerCpu::same);
  EXPECT_EQ(pager_.cpus(), allowed_);
}

TEST_F(TierAffinityThread, DoesOneStepForEachSignal) {
  link_.wanted.store(PagerCpu::same);
  link_.signal();
  EXPECT_FALSE(link_.has_seen_signals());
  thread_.step();
  EXPECT_TRUE(link_.has_seen_signals());
  EXPECT_TRUE(is_on(pager_, there_));
  for (std::uint64_t i = 0; i < AffinityThread::longest_quiet; ++i) thread_.step();  // until a look
  EXPECT_TRUE(link_.rests.load());
}

/// In a child process: a filter that allows every call, as the first that a process gets.
void forbid_nothing() {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = 1, .filter = allow};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST_F(TierAffinityThread, MakesNoMoreCallsAfterTheProgramHasAFilterOfThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        want(PagerCpu::same);
        forbid_nothing();
        want(PagerCpu::any);
        _exit(link_.state.load() == AffinityLink::stopped && is_on(pager_, there_) ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(TierPagerAffinity, StartsAndStopsItsThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static PagerAffinity affinity;
        affinity.start(-1, PagerCpu::automatic);
        affinity.set_thread(0, gettid());
        std::thread([] { affinity.run(); }).detach();
        affinity.wait_for_thread();
        affinity.release_threads();
        affinity.begin_release();
        affinity.end_release();
        affinity.stop();
        affinity.release_threads();
        _exit(affinity.wants_workers() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(TierPagerAffinity, ForgetsFaultsThatWereServed) {
  PagerAffinity affinity;
  affinity.start(-1, PagerCpu::any);
  EXPECT_EQ(affinity.workers(), 1U);
  EXPECT_FALSE(affinity.keeps_any(0));
  EXPECT_EQ(affinity.add_fault(7, 0), 0U);
  affinity.forget_fault(0, 8);
  affinity.forget_fault(0, 7);
  affinity.forget_faults();
  affinity.report_served(0, 1);
  EXPECT_FALSE(affinity.report_faults(1, 1, 0));
  affinity.report_idle();
  affinity.begin_request();
  affinity.end_request();
  affinity.set_workers(2);
  affinity.forget_faults();
  EXPECT_FALSE(affinity.is_same_idle());
  EXPECT_EQ(affinity.processors(), 1U);
}

}  // namespace test_file
}  // namespace nearfar::tier

// The pager's service in this process, with the kernel's own userfaultfd. Its threads never end, so
// each test runs in a process of its own, which exits with 0 if all is as it should be.

#include "tier/service/service.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "service_rig.h"

namespace nearfar::tier {
namespace test_file {

using Kind = Request::Kind;

/// Ends this process, whose threads of the pager go on until then.
[[noreturn]] void end_with(bool right) { std::exit(right ? 0 : 1); }

class TierService : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (!ServiceRig::is_possible()) GTEST_SKIP() << "this process may not have a userfaultfd";
  }
};

ServiceRig& started(const ServiceOptions& options = {}) {
  static auto* const rig = new ServiceRig(options);  // NOLINT: its threads outlive everything
  rig->service().start();
  return *rig;
}

#define EXPECT_RIGHT(body) EXPECT_EXIT(body, testing::ExitedWithCode(0), "")

TEST_F(TierService, KeepsTheContentsOfMorePagesThanAreNear) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    rig.fill(0, 2048);
    end_with(rig.is_filled(0, 2048) && rig.count(Count::evictions) > 1000);
  });
}

TEST_F(TierService, ServesThreadsThatFaultAtOnceOnProcessorsOfTheirOwn) {
  for (const PagerCpu cpu : {PagerCpu::per_cpu, PagerCpu::same_idle}) {
    EXPECT_RIGHT({
      ServiceRig& rig = started({.cpu = cpu});
      std::atomic<bool> right{true};
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < 3; ++i)
        threads.emplace_back([&rig, &right, i] {
          rig.fill(1024 * i, 1024);
          for (int times = 0; times < 6; ++times)
            if (!rig.is_filled(1024 * i, 1024)) right.store(false);
        });
      for (std::thread& thread : threads) thread.join();
      end_with(right.load());
    });
  }
}

TEST_F(TierService, ReadsZerosWhereMemoryWasDiscarded) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    rig.fill(0, 1024);
    const long error = rig.service().discard(rig.place(100), rig.place(300));
    bool zeros = error == 0;
    for (std::size_t page = 100; page < 300; ++page) zeros = zeros && rig.word(page) == 0;
    end_with(zeros && rig.is_filled(0, 100) && rig.is_filled(300, 724));
  });
}

TEST_F(TierService, DiscardsByARequestWherePagesLeaveByBeingCopied) {
  EXPECT_RIGHT({
    ServiceRig& rig = started({.eviction = os::Eviction::copy});
    rig.fill(0, 1024);
    const long error = rig.service().discard(rig.place(100), rig.place(300));
    end_with(error == 0 && rig.word(200) == 0 && rig.is_filled(300, 724));
  });
}

TEST_F(TierService, AppliesChangesThatTheProgramMakesPastIt) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    rig.fill(0, 1024);
    os::advise(rig.place(0), 100 * os::page_bytes, MADV_DONTNEED);
    os::unmap(rig.place(200), 100 * os::page_bytes);
    const long moved =
        os::call(__NR_mremap, os::word(rig.place(400)), 100 * os::page_bytes, 100 * os::page_bytes,
                 MREMAP_MAYMOVE | MREMAP_FIXED, os::word(rig.place(2000)));
    bool right = moved == static_cast<long>(rig.place(2000)) && rig.word(50) == 0;
    for (std::size_t page = 0; page < 100; ++page)
      right = right && rig.word(2000 + page) == 401 + page;
    end_with(right && rig.is_filled(100, 100) && rig.is_filled(300, 100));
  });
}

TEST_F(TierService, MovesContentsAndGivesAdviceAsItIsAsked) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    Service& service = rig.service();
    rig.fill(0, 1024);
    bool right = service.ask({.kind = Kind::move,
                              .begin = rig.place(0),
                              .end = rig.place(2000),
                              .length = 10 * os::page_bytes});
    for (std::size_t page = 0; page < 10; ++page)
      right = right && rig.word(2000 + page) == page + 1;
    const os::Place begin = rig.place(512);
    const os::Place end = rig.place(576);
    for (const Kind kind :
         {Kind::keep_near, Kind::may_leave, Kind::cold, Kind::will_need, Kind::sample})
      right = service.ask({.kind = kind, .begin = begin, .end = end}) && right;
    right =
        !service.ask({.kind = Kind::keep_near, .begin = rig.place(0), .end = rig.place(1024)}) &&
        right;
    end_with(right && rig.is_filled(10, 1014));
  });
}

TEST_F(TierService, LeavesPagesAloneThatAnotherMappingCovers) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    Service& service = rig.service();
    rig.fill(0, 1024);
    const os::Place begin = rig.place(64);
    const os::Place end = rig.place(128);
    bool right = service.ask({.kind = Kind::uncover, .begin = begin, .end = end});
    right = service.ask({.kind = Kind::cover, .begin = begin, .end = end}) && right;
    const long made = os::map(begin, end - begin, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
    right = right && made == static_cast<long>(begin) && rig.word(100) == 0;
    right = service.ask({.kind = Kind::uncover, .begin = begin, .end = end}) && right;
    end_with(right && rig.is_filled(0, 64) && rig.is_filled(128, 896));
  });
}

TEST_F(TierService, HandsAForkedChildItsOwnPager) {
  EXPECT_RIGHT({
    ServiceRig& rig = started({.limit = 1024});
    Service& service = rig.service();
    const auto thread = static_cast<int>(os::call(__NR_gettid));
    rig.fill(0, 1536);
    bool right = service.ask({.kind = Kind::agree_to_fork, .thread = thread});
    service.begin_release();
    right = service.ask({.kind = Kind::pause, .thread = thread}) && right;
    std::thread other([&] { rig.word(3000) = 1; });  // a fault while forking
    const pid_t child = ::fork();
    if (child == 0) {
      service.start_in_child(os::place(__builtin_frame_address(0)), os::number_in_proc());
      const bool filled = rig.is_filled(0, 1536);
      rig.fill(2048, 512);
      std::exit(filled && rig.is_filled(2048, 512) ? 0 : 1);
    }
    right = service.ask({.kind = Kind::resume}) && right;
    service.end_release();
    other.join();
    int status = -1;
    right = waitpid(child, &status, 0) == child && status == 0 && right;
    rig.fill(0, 1536);
    end_with(right && rig.is_filled(0, 1536) && rig.count(Count::forks) == 1);
  });
}

TEST_F(TierService, AppliesChangesOfOtherThreadsAfterAForkInBothProcesses) {
  EXPECT_RIGHT({
    ServiceRig& rig = started({.limit = 2048});
    Service& service = rig.service();
    const auto thread = static_cast<int>(os::call(__NR_gettid));
    rig.fill(0, 1024);
    bool right = service.ask({.kind = Kind::agree_to_fork, .thread = thread}) &&
                 service.ask({.kind = Kind::pause, .thread = thread});
    std::thread other([&] {
      os::advise(rig.place(0), 100 * os::page_bytes, MADV_DONTNEED);
      os::unmap(rig.place(200), 100 * os::page_bytes);
    });
    std::thread discarding([&] { service.discard(rig.place(400), rig.place(500)); });
    std::thread touching([&] { rig.word(150) = 151; });
    other.join();  // both calls have returned, and their messages wait for the end of the fork
    const pid_t child = ::fork();
    if (child == 0) {
      service.start_in_child(os::place(__builtin_frame_address(0)), os::number_in_proc());
      std::exit(rig.word(50) == 0 && rig.is_filled(100, 100) && rig.is_filled(300, 100) ? 0 : 1);
    }
    right = service.ask({.kind = Kind::resume}) && right;
    discarding.join();
    touching.join();
    int status = -1;
    right = waitpid(child, &status, 0) == child && status == 0 && right;
    right = right && rig.word(50) == 0 && rig.word(450) == 0 && rig.is_filled(100, 100);
    end_with(right && rig.is_filled(300, 100) && rig.is_filled(500, 524));
  });
}

TEST_F(TierService, ServesFaultsBesideDiscardsAndForksOnProcessorsOfTheirOwn) {
  for (const PagerCpu cpu : {PagerCpu::per_cpu, PagerCpu::automatic}) {
    EXPECT_RIGHT({
      ServiceRig& rig = started({.limit = 1024, .cpu = cpu});
      Service& service = rig.service();
      std::atomic<bool> right{true};
      std::atomic<int> left{2};
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < 2; ++i)
        threads.emplace_back([&, i] {
          rig.fill(1024 * i, 1024);
          for (int times = 0; times < 10; ++times)
            if (!rig.is_filled(1024 * i, 1024)) right.store(false);
          left.fetch_sub(1);
        });
      while (left.load() != 0) {
        rig.fill(3000, 64);
        if (service.discard(rig.place(3000), rig.place(3064)) != 0) right.store(false);
        os::advise(rig.place(3100), 16 * os::page_bytes, MADV_DONTNEED);
        const auto thread = static_cast<int>(os::call(__NR_gettid));
        if (!service.ask({.kind = Kind::agree_to_fork, .thread = thread})) continue;
        if (!service.ask({.kind = Kind::pause, .thread = thread})) continue;
        const pid_t child = ::fork();
        if (child == 0) _exit(0);
        if (!service.ask({.kind = Kind::resume})) right.store(false);
        waitpid(child, nullptr, 0);
      }
      for (std::thread& thread : threads) thread.join();
      end_with(right.load());
    });
  }
}

TEST_F(TierService, RefusesAForkOfAThreadWithDescriptorsOfItsOwn) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    bool refused = false;
    std::thread other([&] {
      const auto thread = static_cast<int>(os::call(__NR_gettid));
      os::call(__NR_unshare, CLONE_FILES);
      refused = !rig.service().ask({.kind = Kind::agree_to_fork, .thread = thread}) &&
                !rig.service().ask({.kind = Kind::pause, .thread = thread});
    });
    other.join();
    end_with(refused);
  });
}

TEST_F(TierService, AnswersNothingInAProcessThatASystemCallHasMade) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    rig.fill(0, 16);
    const long child = os::call(__NR_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      os::unmap(rig.place(0), os::page_bytes);
      os::call(__NR_exit_group, rig.service().ask({.kind = Kind::sample}) ? 1 : 0);
    }
    int status = -1;
    end_with(waitpid(static_cast<pid_t>(child), &status, 0) == child && status == 0);
  });
}

TEST_F(TierService, KeepsAllPagesNearWhenThatIsOrdered) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    rig.fill(0, 2048);
    rig.control().limit_pages.store(4096);
    Orders& orders = orders_of(rig.control());
    orders.residence.store(Residence::kept);
    orders.generation.fetch_add(1);
    while (orders.answers[rig.pager().budget().index()].generation.load() != 2)
      rig.service().ask({.kind = Kind::sample});
    end_with(rig.pager().is_to_stay_near() && rig.is_filled(0, 2048));
  });
}

TEST_F(TierService, ServesFaultsAfterTheProgramHasConfinedItself) {
  EXPECT_RIGHT({
    ServiceRig& rig = started({.cpu = PagerCpu::same});
    rig.fill(0, 1024);
    const bool stopped = rig.service().ask({.kind = Kind::be_sandboxed});
    end_with(stopped && rig.is_filled(0, 1024));
  });
}

TEST_F(TierService, NamesTheDescriptorsThatItNeeds) {
  EXPECT_RIGHT({
    ServiceRig& rig = started();
    int count = 0;
    for (int own = rig.service().first_owned(0); own >= 0; own = rig.service().first_owned(own + 1))
      ++count;
    end_with(count >= 5 && rig.service().process() == getpid());
  });
}

Service* handling = nullptr;
thread_local UnmanagedFault last_fault;
std::atomic<int> unmanaged{0};

void on_sigbus(int /*signal*/, siginfo_t* info, void* context) {
  const auto error = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  const os::Touch touch = (error & 2) != 0 ? os::Touch::write : os::Touch::read;
  if (!handling->fault(os::place(info->si_addr), touch, last_fault)) unmanaged.fetch_add(1);
}

ServiceRig& started_with_signals() {
  ServiceRig& rig = started({.faults = os::Faults::signal});
  handling = &rig.service();
  struct sigaction action{};
  action.sa_sigaction = on_sigbus;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  return rig;
}

TEST_F(TierService, ServesFaultsInTheHandlersOfTheirSignals) {
  EXPECT_RIGHT({
    ServiceRig& rig = started_with_signals();
    std::atomic<bool> right{true};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 3; ++i)
      threads.emplace_back([&rig, &right, i] {
        rig.fill(1024 * i, 1024);
        for (int times = 0; times < 4; ++times)
          if (!rig.is_filled(1024 * i, 1024)) right.store(false);
      });
    for (std::thread& thread : threads) thread.join();
    end_with(right.load() && unmanaged.load() == 0);
  });
}

TEST_F(TierService, ServesFaultsInHandlersBesideDiscardsOfOtherThreads) {
  EXPECT_RIGHT({
    ServiceRig& rig = started_with_signals();
    std::atomic<bool> right{true};
    std::atomic<int> left{2};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        rig.fill(1024 * i, 400);
        for (int times = 0; times < 20; ++times)
          if (!rig.is_filled(1024 * i, 400)) right.store(false);
        left.fetch_sub(1);
      });
    while (left.load() != 0) {
      rig.fill(3000, 64);
      if (rig.service().discard(rig.place(3000), rig.place(3064)) != 0) right.store(false);
      os::advise(rig.place(3100), 16 * os::page_bytes, MADV_DONTNEED);
    }
    for (std::thread& thread : threads) thread.join();
    end_with(right.load());
  });
}

TEST_F(TierService, SaysOfAFaultInAHandlerThatItIsNotForManagedMemoryTheSecondTime) {
  EXPECT_RIGHT({
    ServiceRig& rig = started_with_signals();
    rig.fill(0, 16);
    UnmanagedFault last;
    const os::Place outside = os::place(&unmanaged);
    const bool first = rig.service().fault(outside, os::Touch::read, last);
    const bool second = rig.service().fault(outside, os::Touch::read, last);
    end_with(first && !second);
  });
}

}  // namespace test_file
}  // namespace nearfar::tier

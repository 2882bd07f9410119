// Requests of the program's threads, and the discards that they make themselves.

#include "tier/service/request_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace nearfar::tier {
namespace test_file {

using Answer = RequestQueue::Answer;
using Kind = Request::Kind;

class TierRequestQueue : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_GE(pager_.open(), 0);
    queue_.start();
  }
  void TearDown() override { pager_.close(); }

  /// Serves until one request has been answered.
  template <typename Serve>
  void serve_one(const Serve& serve, bool only_resume = false) {
    while (!queue_.serve(only_resume, serve)) std::this_thread::yield();
  }
  [[nodiscard]] static os::Message removed(os::Place begin, os::Place end) {
    return {.kind = os::Message::Kind::removed, .begin = begin, .end = end};
  }

  RequestQueue queue_;
  WakeUp pager_;
  int process_ = getpid();
};

TEST_F(TierRequestQueue, HandsTheAnswerToTheThreadThatAsked) {
  for (const Answer answer : {Answer::yes, Answer::no}) {
    bool granted = answer == Answer::no;
    std::thread program([&] { granted = queue_.ask({.kind = Kind::cover, .begin = 7}, pager_); });
    serve_one([&](const Request& request) {
      EXPECT_EQ(request.begin, 7U);
      return answer;
    });
    program.join();
    EXPECT_EQ(granted, answer == Answer::yes);
  }
}

TEST_F(TierRequestQueue, ServesARequestAgainThatIsAnsweredLater) {
  std::thread program([&] { queue_.ask({.kind = Kind::move}, pager_); });
  int times = 0;
  while (times < 3)
    queue_.serve(false, [&](Request& request) {
      EXPECT_EQ(request.passed, static_cast<PageNumber>(times));
      request.passed = static_cast<PageNumber>(++times);
      return times < 3 ? Answer::later : Answer::yes;
    });
  program.join();
  EXPECT_EQ(times, 3);
}

TEST_F(TierRequestQueue, SaysThatAPauseThatIsAnsweredLaterIsNoReasonToGoOn) {
  std::thread program([&] { queue_.ask({.kind = Kind::pause}, pager_); });
  bool seen = false;
  while (!seen)
    EXPECT_FALSE(queue_.serve(false, [&](const Request&) {
      seen = true;
      return Answer::later;
    }));
  serve_one([](const Request&) { return Answer::yes; });
  program.join();
}

TEST_F(TierRequestQueue, ServesOnlyTheEndOfAForkWhileItGoesOn) {
  std::atomic<int> answered{0};
  std::thread other([&] {
    queue_.ask({.kind = Kind::sample}, pager_);
    answered.fetch_add(1);
  });
  std::thread forking([&] {
    queue_.ask({.kind = Kind::resume}, pager_);
    answered.fetch_add(1);
  });
  serve_one(
      [](const Request& request) {
        EXPECT_EQ(request.kind, Kind::resume);
        return Answer::yes;
      },
      true);
  forking.join();
  EXPECT_EQ(answered.load(), 1);
  serve_one([](const Request&) { return Answer::yes; });
  other.join();
}

TEST_F(TierRequestQueue, KnowsOfNewRequestsUntilServingBegins) {
  EXPECT_FALSE(queue_.has_new());
  std::thread program([&] { queue_.ask({.kind = Kind::sample}, pager_); });
  while (!queue_.has_new()) std::this_thread::yield();
  queue_.begin_serving();
  EXPECT_FALSE(queue_.has_new());
  serve_one([](const Request&) { return Answer::yes; });
  program.join();
}

TEST_F(TierRequestQueue, AnswersMoreThreadsThanItHasSlotsFor) {
  std::atomic<int> answered{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 50; ++i)
    threads.emplace_back([&] {
      queue_.ask({.kind = Kind::sample}, pager_);
      answered.fetch_add(1);
    });
  while (answered.load() < 50) {
    queue_.serve(false, [](const Request&) { return Answer::yes; });
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TierRequestQueue, ChargesADiscardUntilItIsOver) {
  RequestQueue::Slot& discard = queue_.begin_discard(4096, 3 * 4096, process_, pager_);
  EXPECT_TRUE(queue_.has_discard_of(removed(4096, 2 * 4096)));
  EXPECT_FALSE(queue_.has_discard_of(removed(0, 2 * 4096))) << "more than the discard";
  EXPECT_FALSE(queue_.has_discard_of(removed(4096, 4 * 4096))) << "more than the discard";
  EXPECT_FALSE(
      queue_.has_discard_of({.kind = os::Message::Kind::unmapped, .begin = 4096, .end = 2 * 4096}));
  queue_.charge_discard_of(removed(4096, 2 * 4096), 1);
  queue_.charge_discard_of(removed(0, 1), 99);  // the program's own
  EXPECT_TRUE(queue_.has_discards());
  EXPECT_EQ(queue_.take_finished_discards(process_), 0U) << "it goes on";
  queue_.end_discard(discard);
  EXPECT_TRUE(queue_.has_discards()) << "it is charged";
  EXPECT_EQ(queue_.take_finished_discards(process_), 1U);
  EXPECT_FALSE(queue_.has_discards());
  EXPECT_EQ(queue_.take_finished_discards(process_), 0U);
}

TEST_F(TierRequestQueue, EndsADiscardOfAProcessThatWasKilledInIt) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  static_cast<void>(queue_.begin_discard(0, 4096, child, pager_));
  queue_.charge_discard_of(removed(0, 4096), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(queue_.take_finished_discards(process_), 1U);
  EXPECT_FALSE(queue_.has_discards());
}

TEST_F(TierRequestQueue, IsEmptyInAForkedChild) {
  static_cast<void>(queue_.begin_discard(0, 4096, process_, pager_));
  queue_.charge_discard_of(removed(0, 4096), 5);
  queue_.start();
  EXPECT_FALSE(queue_.has_discards());
  EXPECT_EQ(queue_.take_finished_discards(process_), 0U);
}

}  // namespace test_file
}  // namespace nearfar::tier

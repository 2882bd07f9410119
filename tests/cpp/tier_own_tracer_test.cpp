// What the pager asks of its tree's own tracer.

#include "tier/service/own_tracer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "tier/os/status.h"

namespace nearfar::tier {
namespace test_file {

class TierOwnTracer : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC), 0);
    status_ = os::open_status();
    ASSERT_GE(status_, 0);
  }
  void TearDown() override {
    for (const int end : {ends_[0], ends_[1], status_}) close(end);
  }
  [[nodiscard]] OwnTracer started(int filters = 0) const {
    return OwnTracer({.process = getpid(), .pipe = ends_[1], .filters = filters});
  }
  [[nodiscard]] std::optional<OwnTracer::Request> next() const {
    OwnTracer::Request request{};
    if (read(ends_[0], &request, sizeof request) != sizeof request) return std::nullopt;
    return request;
  }

  std::array<int, 2> ends_{-1, -1};
  int status_ = -1;
};

TEST_F(TierOwnTracer, IsAskedForEachThreadOnceAndToLetGoOnce) {
  OwnTracer tracer = started();
  tracer.start(status_);
  tracer.add_this_thread(0);
  tracer.add_this_thread(OwnTracer::most_threads);  // there is no such position
  EXPECT_FALSE(next().has_value()) << "no pages are far yet";
  tracer.trace_all(true);
  const auto asked = next();
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->process, getpid());
  EXPECT_EQ(asked->thread, gettid());
  tracer.trace_all(true);
  EXPECT_FALSE(next().has_value());
  tracer.trace_all(false);
  const auto released = next();
  ASSERT_TRUE(released.has_value());
  EXPECT_EQ(released->process, getpid());
  EXPECT_EQ(released->thread, 0);
}

TEST_F(TierOwnTracer, IsNotInheritedByNewThreadsOfAThreadThatItDoesNotTrace) {
  OwnTracer tracer = started();
  tracer.start(status_);
  EXPECT_EQ(tracer.for_new_threads(), os::Tracer::none);
  tracer.trace_all(true);
  EXPECT_EQ(tracer.for_new_threads(), os::Tracer::none);
}

TEST_F(TierOwnTracer, IsNotAskedByAProcessWithMoreFiltersThanItHas) {
  OwnTracer tracer = started(-1);
  tracer.start(status_);
  tracer.add_this_thread(0);
  tracer.trace_all(true);
  EXPECT_FALSE(next().has_value());
  EXPECT_EQ(tracer.for_new_threads(), os::Tracer::none);
}

TEST_F(TierOwnTracer, IsNotAskedWhereThereIsNone) {
  OwnTracer none;
  none.start(status_);
  none.add_this_thread(0);
  none.trace_all(true);
  OwnTracer gone({.process = 1 << 30, .pipe = 3});
  gone.start(status_);
  gone.add_this_thread(0);
  gone.trace_all(true);
  EXPECT_FALSE(next().has_value());
}

}  // namespace test_file
}  // namespace nearfar::tier

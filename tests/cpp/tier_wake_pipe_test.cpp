// What wakes all pagers of a tree.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tier/tree/wake_pipe.h"

namespace nearfar::tier {
namespace test_file {

/// A tree's pipe, as its launcher makes it.
class WakePipes : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const std::string name = "/proc/self/fd/" + std::to_string(ends_[1]);
    pipe_ = ::open(name.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(pipe_, 0);
  }
  void TearDown() override {
    for (const int end : {ends_[0], ends_[1], pipe_}) ::close(end);
  }
  /// Another pager's end.
  [[nodiscard]] WakePipe pager() const {
    WakePipe made(pipe_);
    made.listen();
    return made;
  }
  [[nodiscard]] static bool is_woken(const WakePipe& pipe) {
    pollfd event{.fd = pipe.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) == 1;
  }

  std::array<int, 2> ends_{-1, -1};
  int pipe_ = -1;
};

TEST_F(WakePipes, OnePagerWakesAllOthersAndItself) {
  const WakePipe one = pager();
  const WakePipe other = pager();
  EXPECT_FALSE(is_woken(one) || is_woken(other));
  one.wake_all();
  EXPECT_TRUE(is_woken(one) && is_woken(other));
}

TEST_F(WakePipes, APagerThatAcknowledgesDoesNotUseUpAnothersEvent) {
  const WakePipe one = pager();
  const WakePipe other = pager();
  one.wake_all();
  one.acknowledge();
  EXPECT_FALSE(is_woken(one));
  EXPECT_TRUE(is_woken(other));
}

TEST_F(WakePipes, AFullPipeStillWakesEveryPager) {
  const WakePipe one = pager();
  const char byte = 0;
  while (::write(pipe_, &byte, 1) == 1) {
  }
  one.acknowledge();
  ASSERT_FALSE(is_woken(one));
  one.wake_all();
  EXPECT_TRUE(is_woken(one));
}

TEST_F(WakePipes, AForkedProcessListensWithAnEpollOfItsOwn) {
  WakePipe child = pager();
  const int parents = child.descriptor();
  child.listen();
  EXPECT_GE(child.descriptor(), 0);
  EXPECT_EQ(child.pipe(), pipe_);
  child.wake_all();
  EXPECT_TRUE(is_woken(child));
  if (child.descriptor() != parents) {
    EXPECT_EQ(::fcntl(parents, F_GETFD), -1);
  }
}

TEST_F(WakePipes, APagerThatCannotWatchThePipeEndsTheProgram) {
  EXPECT_EXIT(WakePipe(9999).listen(), ::testing::ExitedWithCode(1), "cannot be watched");
}

TEST(WakePipe, WithoutAPipeNoPagerIsWoken) {
  WakePipe none;
  none.listen();
  none.wake_all();
  EXPECT_EQ(none.descriptor(), -1);
}

}  // namespace test_file
}  // namespace nearfar::tier

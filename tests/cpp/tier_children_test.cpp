// The children that a process has forked, known by pipes which the kernel closes for them.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include "tier/tree/children.h"

namespace nearfar::tier {
namespace test_file {

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) != -1; }

/// Forks a child that runs until the parent closes the second end of a pipe.
pid_t fork_into(Children& children, Children::Child& child, std::array<int, 2> ends) {
  const pid_t process = ::fork();
  if (process == 0) {
    children.keep_only(&child);
    ::close(ends[1]);
    pollfd closed{.fd = ends[0], .events = 0, .revents = 0};
    (void)::poll(&closed, 1, -1);
    std::_Exit(0);
  }
  Children::forked(child);
  return process;
}

TEST(Children, AChildThatRunsIsNotReportedAndOneThatEndsIs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  Children children;
  EXPECT_EQ(children.descriptor(), -1);
  EXPECT_EQ(children.ended(), nullptr);
  Children::Child* const child = children.prepare();
  ASSERT_NE(child, nullptr);
  const pid_t process = fork_into(children, *child, ends);
  EXPECT_EQ(children.ended(), nullptr);
  ::close(ends[1]);
  ::waitpid(process, nullptr, 0);
  pollfd event{.fd = children.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&event, 1, -1), 1);
  ASSERT_EQ(children.ended(), child);
  children.remove(*child);
  EXPECT_EQ(children.ended(), nullptr);
  ::close(ends[0]);
}

TEST(Children, AChildThatExecutesAnotherProgramIsReported) {
  Children children;
  Children::Child* const child = children.prepare();
  ASSERT_NE(child, nullptr);
  int ends[2];  // the program waits for its end of this
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    children.keep_only(child);
    ::dup2(ends[0], 0);
    ::close(ends[1]);
    ::execlp("cat", "cat", nullptr);
    std::_Exit(127);
  }
  Children::forked(*child);
  pollfd event{.fd = children.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&event, 1, -1), 1);
  EXPECT_EQ(children.ended(), child);
  EXPECT_EQ(::kill(process, 0), 0) << "it has not ended";
  for (const int end : ends) ::close(end);
  ::waitpid(process, nullptr, 0);
}

TEST(Children, AChildKeepsOnlyItsOwnEnd) {
  Children children;
  const Children::Child* const sibling = children.prepare();
  const Children::Child* const self = children.prepare();
  ASSERT_TRUE(sibling != nullptr && self != nullptr);
  const std::vector<int> others{sibling->alive, sibling->held, self->alive, children.descriptor()};
  const int own = self->held;
  Children in_child = children;
  in_child.keep_only(self);
  EXPECT_TRUE(is_open(own));
  EXPECT_EQ(in_child.own_end(), own);
  for (const int other : others) EXPECT_FALSE(is_open(other)) << other;
  EXPECT_TRUE(in_child.all().empty());
  in_child.keep_only(nullptr);
  EXPECT_FALSE(is_open(own)) << "a child's child closes it";
}

TEST(Children, AnEmptyPlaceIsTakenAgain) {
  Children children;
  Children::Child* const first = children.prepare();
  Children::Child* const second = children.prepare();
  ASSERT_TRUE(first != nullptr && second != nullptr && first != second);
  const int alive = first->alive;
  children.remove(*first);
  EXPECT_FALSE(is_open(alive));
  EXPECT_EQ(children.all().size(), 2U);
  EXPECT_EQ(children.prepare(), first);
}

TEST(Children, AChildThatWaitsForItsForkIsFound) {
  Children children;
  (void)children.prepare();
  Children::Child* const second = children.prepare();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(children.waiting(), nullptr);
  second->waits = true;
  EXPECT_EQ(children.waiting(), second);
  children.remove(*second);
  EXPECT_EQ(children.waiting(), nullptr);
}

TEST(Children, TheListOfSharedSlotsIsFreedWithTheChild) {
  Children children;
  Children::Child* const child = children.prepare();
  ASSERT_NE(child, nullptr);
  child->capacity = os::page_bytes / sizeof(Slot);
  child->shared = os::pointer<Slot>(os::reserve(os::page_bytes));
  const os::Place list = os::place(child->shared);
  children.remove(*child);
  EXPECT_EQ(os::advise(list, os::page_bytes, MADV_NORMAL), -ENOMEM) << "nothing is mapped there";
  EXPECT_EQ(child->shared, nullptr);
}

TEST(Children, WithoutDescriptorsThereIsNoPlaceForAChild) {
  const auto prepared = [](rlim_t more) {
    const int next = ::dup(0);
    ::close(next);
    const rlimit few{.rlim_cur = static_cast<rlim_t>(next) + more, .rlim_max = 1024};
    ::setrlimit(RLIMIT_NOFILE, &few);
    Children children;
    return children.prepare() != nullptr;
  };
  EXPECT_EXIT(std::_Exit(prepared(0) ? 1 : 0), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(prepared(1) ? 1 : 0), ::testing::ExitedWithCode(0), "");
}

}  // namespace test_file
}  // namespace nearfar::tier

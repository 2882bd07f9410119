// What wakes a pager thread, and for how long it may wait.

#include "tier/service/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "tier/service/wake_up.h"

namespace nearfar::tier {
namespace test_file {

constexpr int at_once = 0;

TEST(TierWakeUp, IsReadableFromASignalUntilItIsCleared) {
  WakeUp wake_up;
  EXPECT_FALSE(wake_up.is_open());
  ASSERT_GE(wake_up.open(), 0);
  const EventSources sources{.wake_up = wake_up.descriptor()};
  EXPECT_FALSE(wait_for_events(sources, at_once).wake_up);
  wake_up.signal();
  wake_up.signal();
  EXPECT_TRUE(wait_for_events(sources, at_once).wake_up);
  wake_up.clear();
  EXPECT_FALSE(wait_for_events(sources, at_once).wake_up);
  wake_up.close();
  EXPECT_FALSE(wake_up.is_open());
}

TEST(TierWakeUp, OpensAnotherDescriptorInPlaceOfTheFirst) {
  WakeUp wake_up;
  ASSERT_GE(wake_up.open(), 0);
  const int first = wake_up.descriptor();
  ASSERT_GE(wake_up.open(), 0);
  wake_up.signal();
  EXPECT_TRUE(wait_for_events({.wake_up = wake_up.descriptor()}, at_once).wake_up);
  EXPECT_TRUE(first == wake_up.descriptor() || fcntl(first, F_GETFD) == -1);
  wake_up.close();
}

TEST(TierWakeUp, SaysThatThereAreNoDescriptorsLeft) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  WakeUp wake_up;
  EXPECT_EQ(wake_up.open(), -EMFILE);
  EXPECT_FALSE(wake_up.is_open());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(TierEventLoop, TellsWhichDescriptorHasSomething) {
  WakeUp tree;
  WakeUp children;
  ASSERT_GE(tree.open(), 0);
  ASSERT_GE(children.open(), 0);
  children.signal();
  const EventSources sources{.tree = tree.descriptor(), .children = children.descriptor()};
  const Events events = wait_for_events(sources, at_once);
  EXPECT_TRUE(events.children);
  EXPECT_FALSE(events.tree);
  EXPECT_FALSE(events.closed);
  tree.close();
  children.close();
}

TEST(TierEventLoop, TellsThatTheProgramHasClosedADescriptorOfThePager) {
  WakeUp wake_up;
  ASSERT_GE(wake_up.open(), 0);
  const int descriptor = wake_up.descriptor();
  wake_up.close();
  EXPECT_TRUE(wait_for_events({.wake_up = descriptor}, at_once).closed);
  EXPECT_TRUE(wait_for_events({.messages = descriptor}, at_once).closed);
  EXPECT_FALSE(wait_for_events({.tree = descriptor}, at_once).closed);
}

TEST(TierEventLoop, WaitsForAsLongAsItTakesUnlessSomethingCannotSignalIt) {
  EXPECT_EQ(milliseconds_of({}), -1);
  EXPECT_EQ(milliseconds_of({.has_work = true, .awaits_discards = true}), 0);
  EXPECT_EQ(milliseconds_of({.others_share_near = true}), 20);
  EXPECT_EQ(milliseconds_of({.awaits_discards = true}), 20);
  EXPECT_EQ(milliseconds_of({.others_share_near = true, .serves_while_forking = true}), 1);
}

}  // namespace test_file
}  // namespace nearfar::tier

// What looks at page tables become: dense numbers, what has changed, and a pace.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tier/swap/image.h"
#include "tier/swap/monitor.h"
#include "tier/swap/pace.h"

namespace nearfar::tier::swap {
namespace test_file {

/// Writes down what it is told.
class Notes final : public Listener {
 public:
  void room(PageIndex end) override { end_ = end; }
  void came(PageIndex page) override { heard.push_back("came " + std::to_string(page)); }
  void gone(PageIndex page) override { heard.push_back("gone " + std::to_string(page)); }

  [[nodiscard]] PageIndex end() const { return end_; }

  std::vector<std::string> heard;

 private:
  PageIndex end_ = 0;
};

constexpr os::Place page = os::page_bytes;
constexpr os::Place base = 1000 * Groups::bytes;

class ImageTest : public testing::Test {
 protected:
  /// One look that shows these runs, and what it tells.
  std::vector<std::string> look(const std::vector<os::Run>& runs) {
    notes_.heard.clear();
    image_.begin();
    for (const os::Run& run : runs) image_.add(run);
    image_.end(changes_);
    return notes_.heard;
  }
  static os::Run pages(os::Place first, os::Place end, bool present) {
    return {base + first * page, base + end * page, present};
  }

  Notes notes_;
  Groups groups_;
  Image image_{7, groups_, notes_};
  Changes changes_;
};

using Heard = std::vector<std::string>;

TEST_F(ImageTest, APageThatComesIsReported) {
  EXPECT_EQ(look({pages(0, 2, true)}), (Heard{"came 0", "came 1"}));
  EXPECT_EQ(changes_.first_touches, 2U);
  EXPECT_EQ(look({pages(0, 3, true)}), Heard{"came 2"});
  EXPECT_EQ(look({pages(0, 3, true)}), Heard{});
  EXPECT_EQ(image_.present(), 3U);
  EXPECT_EQ(changes_.page_ins, 0U);
}

TEST_F(ImageTest, ANamedPageThatReturnsIsReported) {
  look({pages(0, 2, true)});
  image_.left(1);
  EXPECT_EQ(image_.swapped(), 1U);
  EXPECT_EQ(look({pages(0, 1, true), pages(1, 2, false)}), Heard{});
  EXPECT_EQ(look({pages(0, 2, true)}), Heard{"came 1"});
  EXPECT_EQ(changes_.page_ins, 1U);
  EXPECT_EQ(changes_.kernel_evictions, 0U);
}

TEST_F(ImageTest, APageThatTheKernelTookIsForgotten) {
  look({pages(5, 6, true)});
  EXPECT_EQ(look({pages(5, 6, false)}), Heard{"gone 5"});
  EXPECT_EQ(changes_.kernel_evictions, 1U);
  EXPECT_EQ(look({pages(5, 6, true)}), Heard{"came 5"});
}

TEST_F(ImageTest, APageThatIsUnmappedIsReleasedWhereverItWas) {
  look({pages(0, 2, true)});
  image_.left(1);
  EXPECT_EQ(look({pages(63, 64, true)}), (Heard{"gone 0", "gone 1", "came 63"}));
}

TEST_F(ImageTest, PageNumbersComeInGroupsAndServeAgainWhenAGroupIsEmpty) {
  look({pages(62, 66, true), pages(1000 * 64, 1000 * 64 + 1, true)});
  EXPECT_EQ(notes_.heard, (Heard{"came 62", "came 63", "came 64", "came 65", "came 128"}));
  EXPECT_EQ(notes_.end(), 192U);
  EXPECT_EQ(groups_.place(65), base + 65 * page);
  EXPECT_EQ(groups_.of(65).owner, 7U);
  look({});
  EXPECT_EQ(image_.present(), 0U);
  look({pages(0, 3 * 64, true)});
  EXPECT_EQ(groups_.end(), 192U);
}

TEST_F(ImageTest, ALookAtThisProcessFindsThePagesThatItTouched) {
  const auto place = os::Place{tier::os::reserve(2 * Groups::bytes)};
  ASSERT_NE(place, 0U);
  *tier::os::pointer<volatile char>(place + 3 * page) = 1;
  std::vector<os::Run> runs;
  const os::Process process(::getpid());
  const bool looked =
      process.look(place, place + Groups::bytes, [&](const os::Run& run) { runs.push_back(run); });
  const os::Place begin = place + 3 * page;
  if (os::can_look() == 0) {
    ASSERT_TRUE(looked);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].begin, begin);
    EXPECT_EQ(runs[0].end, begin + page);
    EXPECT_TRUE(runs[0].present);
  } else {
    EXPECT_FALSE(looked);
  }
  tier::os::unmap(place, 2 * Groups::bytes);
}

/// A child that waits for its end.
pid_t child() {
  const pid_t made = ::fork();
  if (made == 0) {
    for (;;) ::pause();
  }
  return made;
}

/// Its parent still finds it afterwards.
void end(pid_t process) {
  siginfo_t ended{};
  ::kill(process, SIGKILL);
  ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT);
}

TEST(Process, OneThatHasEndedHasNoPagesToLookAt) {
  const pid_t ended = child();
  EXPECT_EQ(os::open_page_map(ended).open(), os::open_page_map(::getpid()).open());
  end(ended);
  EXPECT_FALSE(os::open_page_map(ended).open());
  EXPECT_FALSE(os::Process(ended).look(0, os::memory_end, [](const os::Run&) { FAIL(); }));
  ::waitpid(ended, nullptr, 0);
}

TEST(Monitor, PagesOfAProcessThatHasEndedDoNotCountAsTakenOut) {
  if (os::can_look() != 0) GTEST_SKIP() << "the kernel does not tell of pages";
  constexpr std::size_t shared = 4096;  // pages, which nothing takes out of RAM
  const os::Place place{tier::os::reserve(shared * page)};
  ASSERT_NE(place, 0U);
  for (std::size_t i = 0; i < shared; ++i) *tier::os::pointer<volatile char>(place + i * page) = 1;
  const pid_t ended = child();
  const pid_t other = child();
  Monitor::Options options;
  options.policy = "fifo";
  options.limit_pages = std::uint64_t{1} << 20U;
  options.launcher = ::getpid();
  options.program = ended;
  Monitor monitor(options);
  while (monitor.counts().seen.first_touches < 2 * shared) ::sched_yield();
  end(ended);
  monitor.set_limit(64);
  while (monitor.counts().evictions_asked == 0) ::sched_yield();
  monitor.stop();
  EXPECT_LT(monitor.counts().evictions, monitor.counts().evictions_asked / 2);
  end(other);
  for (const pid_t process : {ended, other}) ::waitpid(process, nullptr, 0);
  tier::os::unmap(place, shared * page);
}

TEST(Pace, TheMonitorKeepsMoreRoomTheMoreComesIn) {
  Pace pace;
  EXPECT_EQ(pace.room(3200), 100U);
  EXPECT_EQ(pace.excess(3100, 3200), 0U);
  EXPECT_EQ(pace.excess(3101, 3200), 101U) << "down to a further 1/32";
  pace.came(300);
  EXPECT_EQ(pace.room(3200), 600U);
  pace.came(100000);
  EXPECT_EQ(pace.room(3200), 800U) << "a quarter at most";
  for (int i = 0; i < 200; ++i) pace.came(0);
  EXPECT_EQ(pace.room(3200), 100U);
}

TEST(Pace, TheMonitorSlowsDownWhileNothingComesAndKeepsToItsShare) {
  Pace pace;
  pace.came(1);
  EXPECT_EQ(pace.pause(Pace::Duration(0)), Pace::shortest);
  EXPECT_EQ(pace.pause(4 * Pace::shortest), 16 * Pace::shortest);
  for (int i = 0; i < 20; ++i) pace.came(0);
  EXPECT_EQ(pace.pause(Pace::Duration(0)), Pace::longest);
  pace.came(1);
  EXPECT_EQ(pace.pause(Pace::Duration(0)), Pace::shortest);
}

}  // namespace test_file
}  // namespace nearfar::tier::swap

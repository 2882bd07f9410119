// What looks at page tables become: dense numbers, events of a policy, and a pace.

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tier/swap/image.h"
#include "tier/swap/pace.h"

namespace nearfar::tier::swap {
namespace {

using policy::Scanned;

/// Writes down what it is told.
class Listener final : public policy::Replacement {
 public:
  void fault(PageIndex page) override { heard.push_back("fault " + std::to_string(page)); }
  void second_chance(PageIndex) override {}
  void scanned(std::span<const Scanned>) override {}
  void released(PageIndex page) override { heard.push_back("released " + std::to_string(page)); }
  void refused(PageIndex) override {}
  PageIndex evict() override { return policy::no_page; }
  [[nodiscard]] PageIndex resident() const override { return 0; }
  [[nodiscard]] bool is_resident(PageIndex) const override { return false; }
  void resize(PageIndex) override {}
  void reserve(PageIndex pages) override { room = pages; }
  [[nodiscard]] unsigned scans_per_turnover() const override { return 0; }

  std::vector<std::string> heard;
  PageIndex room = 0;
};

constexpr os::Place page = os::page_bytes;
constexpr os::Place base = 1000 * Groups::bytes;

class ImageTest : public testing::Test {
 protected:
  /// One look that shows these runs, and what the policy hears of it.
  std::vector<std::string> look(const std::vector<os::Run>& runs) {
    policy_.heard.clear();
    image_.begin();
    for (const os::Run& run : runs) image_.add(run);
    image_.end(changes_);
    return policy_.heard;
  }
  static os::Run pages(os::Place first, os::Place end, bool present) {
    return {base + first * page, base + end * page, present};
  }

  Listener policy_;
  Groups groups_;
  Image image_{7, groups_, policy_};
  Changes changes_;
};

using Heard = std::vector<std::string>;

TEST_F(ImageTest, APageThatComesIsAFault) {
  EXPECT_EQ(look({pages(0, 2, true)}), (Heard{"fault 0", "fault 1"}));
  EXPECT_EQ(changes_.first_touches, 2U);
  EXPECT_EQ(look({pages(0, 3, true)}), Heard{"fault 2"});
  EXPECT_EQ(look({pages(0, 3, true)}), Heard{});
  EXPECT_EQ(image_.present(), 3U);
  EXPECT_EQ(changes_.page_ins, 0U);
}

TEST_F(ImageTest, APageThatThePolicyNamedAndThatReturnsIsAFault) {
  look({pages(0, 2, true)});
  image_.left(1);
  EXPECT_EQ(image_.swapped(), 1U);
  EXPECT_EQ(look({pages(0, 1, true), pages(1, 2, false)}), Heard{});
  EXPECT_EQ(look({pages(0, 2, true)}), Heard{"fault 1"});
  EXPECT_EQ(changes_.page_ins, 1U);
  EXPECT_EQ(changes_.kernel_evictions, 0U);
}

TEST_F(ImageTest, APageThatTheKernelTookIsForgotten) {
  look({pages(5, 6, true)});
  EXPECT_EQ(look({pages(5, 6, false)}), Heard{"released 5"});
  EXPECT_EQ(changes_.kernel_evictions, 1U);
  EXPECT_EQ(look({pages(5, 6, true)}), Heard{"fault 5"});
}

TEST_F(ImageTest, APageThatIsUnmappedIsReleasedWhereverItWas) {
  look({pages(0, 2, true)});
  image_.left(1);
  EXPECT_EQ(look({pages(63, 64, true)}), (Heard{"released 0", "released 1", "fault 63"}));
}

TEST_F(ImageTest, NumbersAreByGroupsAndServeAgainWhenAGroupIsEmpty) {
  look({pages(62, 66, true), pages(1000 * 64, 1000 * 64 + 1, true)});
  EXPECT_EQ(policy_.heard, (Heard{"fault 62", "fault 63", "fault 64", "fault 65", "fault 128"}));
  EXPECT_EQ(policy_.room, 192U);
  EXPECT_EQ(groups_.place(65), base + 65 * page);
  EXPECT_EQ(groups_.of(65).owner, 7U);
  look({});
  EXPECT_EQ(image_.present(), 0U);
  look({pages(0, 3 * 64, true)});
  EXPECT_EQ(groups_.end(), 192U);
}

TEST_F(ImageTest, ALookAtThisProcessFindsWhatItTouched) {
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

TEST(Pace, TheMoreComesInTheMoreRoomIsKept) {
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

TEST(Pace, ItSlowsDownWhileNothingComesAndNeverTakesMoreThanItsShare) {
  Pace pace;
  pace.came(1);
  EXPECT_EQ(pace.pause(Pace::Duration(0)), Pace::shortest);
  EXPECT_EQ(pace.pause(4 * Pace::shortest), 16 * Pace::shortest);
  for (int i = 0; i < 20; ++i) pace.came(0);
  EXPECT_EQ(pace.pause(Pace::Duration(0)), Pace::longest);
  pace.came(1);
  EXPECT_EQ(pace.pause(Pace::Duration(0)), Pace::shortest);
}

}  // namespace
}  // namespace nearfar::tier::swap

// Exchanges of a policy, made those of groups of 512 pages.

#include "policy/placement/grouped.h"

#include <gtest/gtest.h>

#include <vector>

namespace nearfar::policy {
namespace test_file {

/// Names what it is told to.
class Told final : public Placement {
 public:
  [[nodiscard]] std::size_t bytes_per_page() const override { return 0; }
  void keep_in(void*) override {}
  void placed(PageIndex, Tier) override {}
  void released(PageIndex) override {}
  void moved(PageIndex, PageIndex) override {}
  [[nodiscard]] bool needs_scans() const override { return true; }
  void scanned(std::span<const Scan>) override {}
  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override {
    std::ranges::copy(named, exchanges.begin());
    return named.size();
  }
  void resize(PageIndex) override {}

  std::vector<Exchange> named;
};

/// Pages of four groups: the first two near, the others far. All have been looked at, and none was
/// found used.
class GroupedPlacementTest : public testing::Test {
 protected:
  static constexpr PageIndex group = GroupedPlacement::group;

  GroupedPlacementTest() {
    grouped_.keep_marks_in(marks_.data());
    grouped_.resize(2 * group);
    for (PageIndex page = 0; page < marks_.size(); ++page)
      grouped_.placed(page, page < 2 * group ? Tier::near : Tier::far);
    for (PageIndex page = 0; page < marks_.size(); ++page) look_at(page, false);
  }
  void look_at(PageIndex page, bool used) {
    const Scan scan{.page = page, .accessed = used};
    grouped_.scanned({&scan, 1});
  }
  /// So many pages from 1024 on for as many from 0 on.
  void name(PageIndex count) {
    policy_.named.clear();
    for (PageIndex i = count; i-- > 0;)
      policy_.named.push_back({.promote = 2 * group + i, .demote = i});
  }
  std::vector<Exchange> decide(std::size_t pairs = 4 * group) {
    std::vector<Exchange> exchanges(pairs);
    exchanges.resize(grouped_.decide(exchanges));
    return exchanges;
  }
  /// The exchanges have been made.
  void make(const std::vector<Exchange>& exchanges) {
    for (const Exchange& exchange : exchanges) {
      grouped_.placed(exchange.demote, Tier::far);
      grouped_.placed(exchange.promote, Tier::near);
    }
  }

  std::vector<GroupMark> marks_ = std::vector<GroupMark>(std::size_t{4} * group);
  Told policy_;
  GroupedPlacement grouped_{policy_};
};

TEST_F(GroupedPlacementTest, PagesSideBySideArePutSideBySide) {
  policy_.named = {{1030, 7}, {1028, 500}, {1029, 6}};
  const std::vector<Exchange> wanted = {{1028, 6}, {1029, 7}, {1030, 500}};
  EXPECT_EQ(decide(), wanted);
}

TEST_F(GroupedPlacementTest, PagesThatMoveAloneComeAfterThePairs) {
  policy_.named = {{no_page, 9}, {1030, 7}, {no_page, 8}};
  const std::vector<Exchange> wanted = {{1030, 7}, {no_page, 8}, {no_page, 9}};
  EXPECT_EQ(decide(), wanted);
}

TEST_F(GroupedPlacementTest, HalfAGroupThatIsWantedComesAlone) {
  name(group / 2);
  EXPECT_EQ(decide().size(), group / 2);
}

TEST_F(GroupedPlacementTest, WhereMoreThanHalfIsWantedTheGroupComesWholeForIdlePages) {
  name(group / 2 + 1);
  const std::vector<Exchange> exchanges = decide();
  ASSERT_EQ(exchanges.size(), group);
  for (PageIndex i = 0; i < group; ++i)
    EXPECT_EQ(exchanges[i], (Exchange{.promote = 2 * group + i, .demote = i}));
}

TEST_F(GroupedPlacementTest, PagesThatCameBeforeCountAsWanted) {
  name(200);
  make(decide());
  policy_.named.clear();
  for (PageIndex i = 200; i < 257; ++i) {
    policy_.named.push_back({.promote = 2 * group + i, .demote = i});
  }
  for (PageIndex i = 257; i < group; ++i) look_at(i, false);
  EXPECT_EQ(decide().size(), group - 200);
}

TEST_F(GroupedPlacementTest, PagesThatWereUsedOrNotLookedAtMakeNoRoom) {
  for (PageIndex i = 300; i < group; ++i) look_at(i, true);
  name(257);
  EXPECT_EQ(decide().size(), 300U);
  name(257);  // nothing has been looked at since
  EXPECT_EQ(decide().size(), 257U);
}

TEST_F(GroupedPlacementTest, FreeRoomIsTakenFirst) {
  grouped_.resize(2 * group + 10);
  name(257);
  const std::vector<Exchange> exchanges = decide();
  ASSERT_EQ(exchanges.size(), group);
  EXPECT_EQ(exchanges[group - 10].demote, no_page);
  EXPECT_EQ(exchanges[group - 11].demote, group - 11);
}

TEST_F(GroupedPlacementTest, NoMorePairsAreMadeThanThereIsRoomFor) {
  name(300);
  EXPECT_EQ(decide(310).size(), 310U);
  EXPECT_EQ(decide(300).size(), 300U);
}

TEST_F(GroupedPlacementTest, APageComesAlongOnceUntilItIsWanted) {
  name(257);
  make(decide());
  const PageIndex along = 2 * group + 400;
  policy_.named = {{.promote = 3 * group, .demote = along}};
  make(decide());
  ASSERT_FALSE(marks_[along].near);
  const auto names_one = [&] {
    grouped_.placed(2 * group + 5, Tier::far);
    policy_.named = {{.promote = 2 * group + 5, .demote = 600}};
    for (PageIndex page = 601; page < 700; ++page) look_at(page, false);
    return decide();
  };
  EXPECT_EQ(names_one().size(), 1U);
  policy_.named = {{.promote = along, .demote = 600}};
  (void)decide();  // the policy wants it, but cannot have it
  marks_[along].taken_along = false;
  const std::vector<Exchange> again = names_one();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[1].promote, along);
}

TEST_F(GroupedPlacementTest, NothingComesAlongWhereThePolicyNamesNothing) {
  name(300);
  make(decide());
  policy_.named.clear();
  EXPECT_TRUE(decide().empty());
}

}  // namespace test_file
}  // namespace nearfar::policy

// What all parts of a pager share, and what the table gives back of groups that are used no more.

#include <gtest/gtest.h>

#include <algorithm>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

/// Of near memory so small that one group without pages is remembered, and given back when another
/// follows.
class PagerStateTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const PageNumber page : {0U, 512U, 1024U, 1536U}) rig_.bring_in(page, 1);
  }
  /// A group's only page is gone.
  void empty(PageNumber page) {
    state_.discard_and_uncharge(page);
    state_.release_unused_groups({page, page + 1}, rig_.parts.windows.open());
  }
  [[nodiscard]] bool in_use(PageNumber group) {
    return state_.table.next_in_use(group, group + 512) == group;
  }

  PartsRig rig_{{.limit = 128}};
  PagerState& state_ = rig_.parts.state;
};

TEST_F(PagerStateTest, AnUnusedGroupIsGivenBackWhenOthersHaveFollowed) {
  empty(0);
  empty(512);
  EXPECT_TRUE(in_use(0)) << "programs that give memory back take it again";
  const std::uint64_t charged = rig_.charged();
  empty(1024);
  EXPECT_FALSE(in_use(0));
  EXPECT_TRUE(in_use(512));
  EXPECT_EQ(rig_.charged(), charged - 2);  // the page, and the group's entries
}

TEST_F(PagerStateTest, AGroupThatIsUsedAgainIsNotGivenBack) {
  empty(0);
  rig_.bring_in(7, 3);
  empty(512);
  empty(1024);
  EXPECT_TRUE(in_use(0));
  EXPECT_EQ(rig_.word(7), 3U);
}

TEST_F(PagerStateTest, AGroupInAWindowIsNotGivenBack) {
  empty(0);
  Windows open;
  open.add({.begin = 0, .end = 512});
  for (const PageNumber page : {512U, 1024U}) {
    state_.discard_and_uncharge(page);
    state_.release_unused_groups({page, page + 1}, open);
  }
  EXPECT_TRUE(in_use(0));
}

TEST_F(PagerStateTest, ARangeThatMayLieAnywhereHasThePagesOfTheRegionInIt) {
  const os::Place end = state_.region.base + state_.region.length;
  EXPECT_TRUE(state_.pages_between(0x1000, 0x2000).empty());
  EXPECT_TRUE(state_.pages_between(end, end + os::page_bytes).empty());
  const Pages pages = state_.pages_between(state_.region.base - os::page_bytes, end + 1);
  EXPECT_EQ(pages.first, 0U);
  EXPECT_EQ(pages.last, state_.end_page());
  EXPECT_EQ(state_.pages_between(rig_.place(5), rig_.place(9)).first, 5U);
}

TEST(PagerStateCompressed, APageOfOneRepeatedWordTakesNoSlotAndComesBackAsItWas) {
  PartsRig rig({.limit = 128, .compression = Compression::lz4});
  rig.bring_in(3);
  auto* const words = os::pointer<std::uint32_t>(rig.place(3));
  std::fill_n(words, os::page_bytes / sizeof(std::uint32_t), 0xdeadbeef);
  const std::uint64_t slots = rig.control().slots_used.load();
  ASSERT_TRUE(rig.parts.eviction.displace(3));
  rig.parts.eviction.drain_all();
  EXPECT_EQ(rig.state_of(3), State::far);
  EXPECT_TRUE(rig.entry(3).filled());
  EXPECT_EQ(rig.control().slots_used.load(), slots);
  EXPECT_EQ(rig.count(Count::filled_drops), 1U);
  ASSERT_EQ(
      rig.parts.page_in.fill({.first = 3, .count = 1, .from = State::far, .touched = 3}).pages, 1U);
  EXPECT_EQ(words[0], 0xdeadbeefU);
  EXPECT_EQ(words[1023], 0xdeadbeefU);
  EXPECT_FALSE(rig.entry(3).filled());
}

}  // namespace test_file
}  // namespace nearfar::tier

// Windows of memory that the kernel fills by itself: how large they are, and which are open.

#include "tier/pager/windows.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tier/pager/expected_groups.h"
#include "tier/pager/leaving_groups.h"
#include "tier/pager/limbo.h"
#include "tier/pager/recycled_groups.h"
#include "tier/pager/whole_groups.h"

namespace nearfar::tier {
namespace test_file {

constexpr std::uint64_t gib_pages = std::uint64_t{1} << 18U;

TEST(WindowPages, WindowPagesDoubleUpToALimitWhereMuchIsFree) {
  std::size_t pages = 0;
  std::size_t windows = 0;
  for (; pages < most_window; ++windows) {
    const std::size_t next = window_pages(pages, 16 * gib_pages, 16 * gib_pages, 0);
    EXPECT_EQ(next, pages == 0 ? huge_pages : 2 * pages);
    pages = next;
  }
  EXPECT_EQ(windows, 5U);
  EXPECT_EQ(window_pages(pages, 16 * gib_pages, 16 * gib_pages, 0), most_window);
}

TEST(WindowPages, WindowPagesAreWholeHugePagesAndAnEighthOfFreeMemoryAtMost) {
  for (std::uint64_t free = 0; free < 8 * gib_pages; free = free * 3 + 1000) {
    const std::size_t pages = window_pages(most_window, 1, free, 100);
    EXPECT_EQ(pages % huge_pages, 0U);
    EXPECT_LE(8 * pages + 100, std::max<std::uint64_t>(free, 100));
  }
}

TEST(WindowPages, WindowPagesNeedNoFreeMemoryIfTheyAreASmallPartOfTheLimit) {
  constexpr std::uint64_t least = 32 * huge_pages;
  EXPECT_EQ(window_pages(0, least - 1, 0, 0), 0U);
  EXPECT_EQ(window_pages(0, least, 0, 0), huge_pages);
  EXPECT_EQ(window_pages(huge_pages, least, 0, 0), huge_pages);
  EXPECT_LE(window_pages(huge_pages, least, 0, 0), modest_window(least));
}

TEST(Windows, WindowsAreFoundByAnyPageAndTakenInTheOrderOfTheirGrant) {
  Windows windows;
  windows.add({1024, 2048});
  windows.add({0, 512});
  EXPECT_TRUE(windows.hold(1024));
  EXPECT_TRUE(windows.hold(2047));
  EXPECT_FALSE(windows.hold(2048));
  EXPECT_FALSE(windows.hold(512));
  EXPECT_EQ(windows.find(511, 1025), 0U);
  EXPECT_EQ(windows.find(511, 1024), 1U);
  EXPECT_EQ(windows.find(512, 1024), windows.size());
  EXPECT_EQ(windows.take(0).begin, 1024U);
  EXPECT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].pages(), 512U);
  while (!windows.full()) windows.add({4096, 4608});
  EXPECT_EQ(windows.size(), Windows::most);
}

TEST(WholeGroups, WholeGroupsAreKnownByAnyOfTheirPages) {
  constexpr std::size_t pages = 200 * huge_pages;
  std::vector<std::uint64_t> bits(WholeGroups::words(pages));
  WholeGroups groups(bits.data());
  groups.add(70 * huge_pages + 3);
  groups.add(199 * huge_pages);
  EXPECT_TRUE(groups.has(71 * huge_pages - 1));
  EXPECT_FALSE(groups.has(71 * huge_pages));
  EXPECT_FALSE(groups.has(6 * huge_pages));
  groups.remove(70 * huge_pages);
  EXPECT_FALSE(groups.has(70 * huge_pages + 3));
  EXPECT_TRUE(groups.has(pages - 1));
}

TEST(ExpectedGroups, ExpectedGroupsAreFoundByTheirFirstPageUntilOthersTakeTheirPlace) {
  ExpectedGroups expected;
  EXPECT_EQ(expected.find(0), nullptr);
  for (PageNumber i = 0; i < ExpectedGroups::most; ++i) {
    ExpectedGroups::Group& place = expected.next(no_page);
    EXPECT_EQ(place.first, no_page);
    expected.expect(place, i * huge_pages);
  }
  for (PageNumber i = 0; i < ExpectedGroups::most; ++i) {
    ASSERT_NE(expected.find(i * huge_pages), nullptr);
    EXPECT_EQ(expected.find(i * huge_pages)->first, i * huge_pages);
  }
  *expected.find(3 * huge_pages) = {};
  EXPECT_EQ(expected.find(3 * huge_pages), nullptr);
  ExpectedGroups::Group& free = expected.next(no_page);
  EXPECT_EQ(free.first, no_page);
  expected.expect(free, 100 * huge_pages);
  EXPECT_EQ(expected.next(no_page).first, 0U);
  ExpectedGroups::Group& second = expected.next(0);
  EXPECT_EQ(second.first, huge_pages);
  expected.expect(second, 101 * huge_pages);
  EXPECT_EQ(expected.find(huge_pages), nullptr);
  EXPECT_EQ(expected.next(0).first, 2 * huge_pages);
}

TEST(ExpectedGroups, AnExpectedGroupBehindOthersGivesWayFirst) {
  ExpectedGroups expected;
  for (PageNumber i = 0; i < ExpectedGroups::most; ++i)
    expected.expect(expected.next(no_page), i * huge_pages);
  expected.find(5 * huge_pages)->chained = true;
  expected.find(4 * huge_pages)->chained = true;
  ExpectedGroups::Group& last = expected.next(no_page);
  EXPECT_EQ(last.first, 5 * huge_pages);
  expected.expect(last, 100 * huge_pages, 3);
  EXPECT_EQ(expected.find(100 * huge_pages)->passed, 3U);
  EXPECT_EQ(expected.next(no_page).first, 4 * huge_pages);
}

TEST(ExpectedGroups, TheOldestExpectedGroupIsFirst) {
  ExpectedGroups expected;
  const auto held = [](const ExpectedGroups::Group& group) { return group.held(); };
  EXPECT_EQ(expected.oldest(held), nullptr);
  for (PageNumber i = 0; i < 4; ++i) expected.expect(expected.next(no_page), i * huge_pages);
  EXPECT_EQ(expected.oldest(held), nullptr);
  expected.find(3 * huge_pages)->memory = os::page_bytes;
  expected.find(2 * huge_pages)->memory = os::page_bytes;
  EXPECT_EQ(expected.held(), 2U);
  EXPECT_EQ(expected.oldest(held)->first, 2 * huge_pages);
  expected.expect(*expected.find(2 * huge_pages), 9 * huge_pages);  // nothing is left of the other
  EXPECT_EQ(expected.held(), 1U);
  EXPECT_EQ(expected.oldest(held)->first, 3 * huge_pages);
}

TEST(RecycledGroups, OneRecycledGroupWaitsAtATimeAndEveryReadHasRoom) {
  constexpr os::Place base = 64 * huge_bytes;
  RecycledGroups recycled(base);
  EXPECT_FALSE(recycled.has_spare());
  EXPECT_EQ(recycled.take(), RecycledGroups::nowhere);
  std::set<os::Place> taken;
  for (std::size_t i = 0; i < RecycledGroups::most; ++i) {
    const os::Place at = recycled.room();
    ASSERT_EQ(at % huge_bytes, 0U);
    ASSERT_TRUE(at >= base && at < base + RecycledGroups::bytes);
    recycled.keep(at);
    EXPECT_EQ(recycled.room(), RecycledGroups::nowhere);
    EXPECT_EQ(recycled.take(), at);
    EXPECT_FALSE(recycled.has_spare());
    taken.insert(at);
  }
  EXPECT_EQ(taken.size(), RecycledGroups::most);
  EXPECT_EQ(recycled.room(), RecycledGroups::nowhere);
  recycled.empty(base - 1);  // others' memory, from which groups come, too
  recycled.empty(base + RecycledGroups::bytes);
  EXPECT_EQ(recycled.room(), RecycledGroups::nowhere);
  const os::Place fourth = base + 3 * huge_bytes;
  recycled.empty(fourth);
  EXPECT_EQ(recycled.room(), fourth);
}

TEST(LeavingGroups, AGroupLeavesWhenAllOfItHasBeenNamedInAnyOrder) {
  LeavingGroups leaving;
  for (PageNumber i = 0; i < huge_pages - 1; ++i) {
    EXPECT_EQ(leaving.name(5 * huge_pages + (i * 5 + 3) % huge_pages).first, no_page);
    EXPECT_EQ(leaving.name(9 * huge_pages + i).first, no_page);
  }
  EXPECT_EQ(leaving.name(9 * huge_pages + 7).first, no_page);  // again
  leaving.came_back(9 * huge_pages + 8);
  EXPECT_EQ(leaving.name(10 * huge_pages - 1).first, no_page);  // one is missing
  const LeavingGroups::Group last = leaving.name(9 * huge_pages + 8);
  EXPECT_EQ(last.first, 9 * huge_pages);
  EXPECT_EQ(last.count, huge_pages);
  EXPECT_TRUE(last.has(9 * huge_pages));
  EXPECT_FALSE(last.has(10 * huge_pages));
  EXPECT_EQ(leaving.take_oldest().count, huge_pages - 1);
  EXPECT_EQ(leaving.take_oldest().first, no_page);
}

TEST(LeavingGroups, TheGroupThatHasWaitedLongestGivesWay) {
  LeavingGroups leaving;
  EXPECT_EQ(leaving.name(3).first, no_page);
  for (std::size_t i = 1; i < LeavingGroups::most; ++i)
    EXPECT_EQ(leaving.name(static_cast<PageNumber>(i * huge_pages)).first, no_page);
  EXPECT_EQ(leaving.name(4).first, no_page);
  const LeavingGroups::Group first = leaving.name(LeavingGroups::most * huge_pages + 1);
  EXPECT_EQ(first.first, 0U);
  EXPECT_EQ(first.count, 2U);
  EXPECT_TRUE(first.has(3) && first.has(4) && !first.has(5));
  for (std::size_t i = 1; i <= LeavingGroups::most; ++i)
    EXPECT_EQ(leaving.take_oldest().first, i * huge_pages);
  EXPECT_EQ(leaving.take_oldest().first, no_page);
}

TEST(Limbo, LimboAlignsTheNextPagesAndLosesNoneBeforeThem) {
  Limbo limbo(1024);
  for (PageNumber page = 0; page < 600; ++page) limbo.push(page);
  EXPECT_EQ(limbo.room_aligned(512), 0U);
  for (std::size_t i = 0; i < 300; ++i) limbo.remove(limbo.oldest());
  EXPECT_EQ(limbo.room_aligned(512), 300U);
  for (std::size_t i = 0; i < 212; ++i) limbo.remove(limbo.oldest());
  ASSERT_EQ(limbo.room_aligned(512), 512U);
  limbo.align(512);
  EXPECT_EQ(limbo.next_position(), 0U);
  for (PageNumber page = 1000; page < 1512; ++page) limbo.push(page);
  EXPECT_TRUE(limbo.full());
  EXPECT_EQ(limbo.pages(), 600U);
  EXPECT_EQ(limbo.at(limbo.oldest()), 512U);
  for (std::size_t i = 0; i < 88; ++i) limbo.remove(limbo.oldest());
  EXPECT_EQ(limbo.oldest(), 0U);
  EXPECT_EQ(limbo.span(), 512U);
  EXPECT_EQ(limbo.at(0), 1000U);
}

}  // namespace test_file
}  // namespace nearfar::tier

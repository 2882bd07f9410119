// The pager's bookkeeping, without a kernel: page table, limbo, address ranges.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "policy/offline/owned.h"
#include "tier/os/system.h"
#include "tier/pager/empty_groups.h"
#include "tier/pager/extents.h"
#include "tier/pager/limbo.h"
#include "tier/pager/page_table.h"
#include "tier/pager/pending_remaps.h"
#include "tier/pager/write_protection.h"

namespace nearfar::tier {
namespace test_file {

struct Tables {
  std::vector<Page> pages = std::vector<Page>(4 * PageTable::group);
  std::vector<std::uint32_t> ranks = std::vector<std::uint32_t>(4), of_rank = ranks;
  std::uint32_t in_block = 0;
  policy::OwnedReplacement policy;
  PageTable table{
      pages.data(), {ranks.data(), of_rank.data(), &in_block}, pages.size(), *policy, 100};
  explicit Tables(std::string_view name = "fifo") : policy(name, 100) {
    policy.reserve(static_cast<policy::PageIndex>(pages.size()));
  }
};

TEST(PageTable, APageTableNamesResidentPagesAsThePolicyOrdersThem) {
  Tables t;
  for (const PageNumber page : {1500U, 300U, 5U, 6U, 7U}) {
    t.table.use(page);
    t.table.push(page);
  }
  t.table.remove(300);
  t.table[300].state = State::far;
  EXPECT_EQ(t.table.evict(), 1500U);
  t.table.refuse(1500);
  t.table.use(900);
  t.table.rename(5, 900);
  EXPECT_EQ(t.table.resident(), 4U);
  std::vector<PageNumber> order;
  for (PageNumber page = t.table.evict(); page != no_page; page = t.table.evict())
    order.push_back(page);
  EXPECT_EQ(order, (std::vector<PageNumber>{900, 6, 7, 1500}));
}

/// The launcher's limit: metadata is at most 16 bytes a page, but for policies that say otherwise.
TEST(PageTable, APageTableChargesItsRecordsOfAGroupAndThePolicys) {
  const std::map<std::string_view, std::size_t> more{{"raminate", 3}};
  for (const auto& [name, make] : policy::replacements()) {
    Tables t(name);
    const std::size_t pages = more.contains(name) ? more.at(name) : 2;
    EXPECT_EQ(t.table.most_use(), pages) << name;
    EXPECT_EQ(t.table.use(600), pages) << name;
    EXPECT_EQ(t.table.use(601), 0U) << name;
  }
}

TEST(PageTable, APageTableTellsTheMostThatTheGroupsOfARunMayCost) {
  Tables t;
  EXPECT_EQ(t.table.most_use(500, 12), t.table.most_use());
  EXPECT_EQ(t.table.most_use(500, 13), 2 * t.table.most_use());
  t.table.use(511);
  EXPECT_EQ(t.table.most_use(500, 12), 0U);
  EXPECT_EQ(t.table.most_use(500, 13), t.table.most_use());
  EXPECT_EQ(t.table.most_use(512, 1), t.table.most_use());
  t.table.use(512);
  EXPECT_EQ(t.table.most_use(500, 13), 0U);
}

TEST(PageTable, APageTableFindsUsedPages) {
  Tables t;
  t.table.use(601);
  t.table.push(601);
  EXPECT_EQ(t.table.next_used(0, 2048), 601U);
  EXPECT_EQ(t.table.next_used(602, 2048), 2048U);
  EXPECT_EQ(t.table.next_used(0, 500), 500U);
  EXPECT_EQ(t.table.state(3), State::fresh);
}

TEST(PageTable, AReturnedGroupLeavesThePolicysRecordsToTheNext) {
  Tables t;
  for (const PageNumber page : {600U, 5U, 6U}) {
    t.table.use(page);
    t.table.push(page);
  }
  EXPECT_EQ(t.table.next_in_use(7, 2048), 7U);
  EXPECT_EQ(t.table.next_in_use(513, 2048), 513U);
  EXPECT_EQ(t.table.next_in_use(1024, 2048), 2048U);
  t.table.remove(600);
  t.table[600].state = State::fresh;
  EXPECT_FALSE(t.table.has_room(PageTable::most_groups - 1));
  t.table.give_back(600);
  EXPECT_TRUE(t.table.has_room(PageTable::most_groups - 1));
  EXPECT_FALSE(t.table.has_room(PageTable::most_groups));
  EXPECT_EQ(t.table.next_in_use(512, 2048), 2048U);
  EXPECT_EQ(t.table.use(1500), 1U);
  t.table.push(1500);
  EXPECT_EQ(t.table.use(1501), 0U);
  EXPECT_EQ(t.table.use(601), t.table.most_use());
  EXPECT_EQ(t.table.next_in_use(512, 2048), 512U);
  std::vector<PageNumber> order;
  for (PageNumber page = t.table.evict(); page != no_page; page = t.table.evict())
    order.push_back(page);
  EXPECT_EQ(order, (std::vector<PageNumber>{5, 6, 1500}));
}

/// Of groups in use here and there among many: those, and no others, in order.
TEST(PageTable, APageTablePassesOverGroupsThatAreNotInUse) {
  constexpr std::size_t groups = 3 * PageTable::block + 7;
  constexpr auto end = static_cast<PageNumber>(groups * PageTable::group);
  policy::OwnedReplacement policy("fifo", 100);
  policy.reserve(static_cast<policy::PageIndex>(16 * PageTable::group));
  std::vector<std::uint32_t> ranks(groups), of_rank(groups), in_block(PageTable::blocks(end));
  const auto pages = std::make_unique_for_overwrite<Page[]>(end);
  PageTable table(pages.get(), {ranks.data(), of_rank.data(), in_block.data()}, end, *policy, 100);
  std::set<PageNumber> model;
  Rng rng(3);
  for (int step = 0; step < 200; ++step) {
    const auto first = static_cast<PageNumber>(rng.below(groups) * PageTable::group);
    if (model.size() < 16 && model.insert(first).second) {
      table.use(first);
    } else {
      table.give_back(*model.begin());
      model.erase(model.begin());
    }
    std::set<PageNumber> found;
    for (PageNumber page = table.next_in_use(0, end); page < end;
         page = table.next_in_use(page + PageTable::group, end))
      found.insert(page);
    ASSERT_EQ(found, model);
  }
}

/// What is read of a large arena has to be copied at every fork: nothing where no group is in use.
TEST(PageTable, APageTableReadsNoRanksWhereNoGroupIsInUse) {
  constexpr std::size_t blocks = 6;
  constexpr std::size_t bytes = blocks * PageTable::block * sizeof(std::uint32_t);
  constexpr auto end = static_cast<PageNumber>(blocks * PageTable::block * PageTable::group);
  auto* const ranks = os::pointer<std::uint32_t>(os::reserve(bytes));
  ASSERT_NE(ranks, nullptr);
  ASSERT_EQ(bytes, blocks * os::page_bytes);
  std::vector<std::uint32_t> of_rank(blocks * PageTable::block), in_block(blocks);
  const auto pages = std::make_unique_for_overwrite<Page[]>(end);
  policy::OwnedReplacement policy("fifo", 100);
  policy.reserve(static_cast<policy::PageIndex>(PageTable::group));
  PageTable table(pages.get(), {ranks, of_rank.data(), in_block.data()}, end, *policy, 100);
  constexpr auto used = static_cast<PageNumber>((3 * PageTable::block + 5) * PageTable::group);
  table.use(used);
  EXPECT_EQ(table.next_in_use(0, end), used);
  EXPECT_EQ(table.next_in_use(used + PageTable::group, end), end);
  std::array<unsigned char, blocks> there{};
  ASSERT_EQ(mincore(ranks, bytes, there.data()), 0);
  EXPECT_EQ(there, (std::array<unsigned char, blocks>{0, 0, 0, 1, 0, 0}));
  os::unmap(os::place(ranks), bytes);
}

TEST(EmptyGroups, TheOldestOfManyEmptyGroupsIsExaminedFirst) {
  EmptyGroups groups;
  EXPECT_EQ(groups.note(512, 2), no_page);
  EXPECT_EQ(groups.note(1024, 2), no_page);
  EXPECT_EQ(groups.note(1024, 2), no_page);
  EXPECT_EQ(groups.note(2048, 2), 512U);
  EXPECT_EQ(groups.note(512, 2), 1024U);
  EXPECT_EQ(groups.note(4096, 0), 512U);
}

TEST(Limbo, LimboReturnsPagesInOrderAndReusesTheirPlaces) {
  Limbo limbo(4);
  for (PageNumber page = 10; page < 14; ++page) limbo.push(page);
  EXPECT_TRUE(limbo.full());
  limbo.remove(1);  // in the middle: its position is free once it is the oldest
  EXPECT_TRUE(limbo.full());
  EXPECT_EQ(limbo.at(limbo.oldest()), 10U);
  limbo.remove(limbo.oldest());
  EXPECT_EQ(limbo.at(limbo.oldest()), 12U);
  EXPECT_EQ(limbo.span(), 2U);
  EXPECT_EQ(limbo.pages(), 2U);
  EXPECT_EQ(limbo.next_position(), 0U);
  limbo.rename(3, 99);
  limbo.remove(limbo.oldest());
  EXPECT_EQ(limbo.at(limbo.oldest()), 99U);
  limbo.remove(limbo.oldest());
  EXPECT_EQ(limbo.oldest(), limbo.capacity());
}

/// What a test knows of a mapping that has moved: pages by where they are now, each by its number.
std::map<os::Place, PageNumber> cut_all(PendingRemaps& remaps, os::Place begin, os::Place end) {
  std::map<os::Place, PageNumber> pages;
  for (PendingRemaps::Remap part; remaps.cut(begin, end, part);)
    for (os::Place at = part.begin; at < part.end; at += os::page_bytes)
      EXPECT_TRUE(pages.emplace(at, part.page(at)).second);
  return pages;
}

TEST(PendingRemaps, PendingRemapsKeepPagesBesideARangeThatIsCutOut) {
  constexpr os::Place page = os::page_bytes;
  PendingRemaps remaps;
  ASSERT_TRUE(remaps.add({.begin = 100 * page, .end = 110 * page, .first = 7}));
  ASSERT_TRUE(remaps.add({.begin = 200 * page, .end = 202 * page, .first = 50}));
  EXPECT_TRUE(remaps.hold(7) && remaps.hold(16) && remaps.hold(51));
  EXPECT_FALSE(remaps.hold(6) || remaps.hold(17) || remaps.hold(52));
  EXPECT_EQ(cut_all(remaps, 103 * page, 105 * page),
            (std::map<os::Place, PageNumber>{{103 * page, 10}, {104 * page, 11}}));
  EXPECT_FALSE(remaps.hold(10) || remaps.hold(11));
  const auto rest = cut_all(remaps, 0, 1000 * page);
  EXPECT_EQ(rest.size(), 10U);
  EXPECT_EQ(rest.at(102 * page), 9U);
  EXPECT_EQ(rest.at(105 * page), 12U);
  EXPECT_EQ(rest.at(201 * page), 51U);
  EXPECT_TRUE(remaps.empty());
}

TEST(PendingRemaps, PendingRemapsAreNoMoreThanTheirRoom) {
  PendingRemaps remaps;
  for (std::size_t i = 0; i < PendingRemaps::most; ++i)
    EXPECT_TRUE(remaps.add({.begin = i * os::page_bytes, .end = (i + 1) * os::page_bytes}));
  EXPECT_FALSE(remaps.add({.begin = 0, .end = os::page_bytes}));
}

/// The same operations on extents and on a set of addresses leave the same behind.
TEST(Extents, ExtentsAreASetOfAddresses) {
  constexpr std::uintptr_t space = 64;
  std::array<Extents::Extent, 40> memory;
  Extents extents(memory.data(), memory.size());
  std::set<std::uintptr_t> model;
  Rng rng(5);
  for (int step = 0; step < 4000; ++step) {
    const std::uintptr_t begin = rng.below(space);
    const std::uintptr_t end = begin + 1 + rng.below(9);
    if (rng.below(2) == 0) {
      ASSERT_TRUE(extents.add(begin, end));
      for (std::uintptr_t at = begin; at < end; ++at) model.insert(at);
    } else {
      ASSERT_TRUE(extents.remove(begin, end));
      for (std::uintptr_t at = begin; at < end; ++at) model.erase(at);
    }
    for (std::uintptr_t at = 0; at < space + 10; ++at)
      ASSERT_EQ(extents.overlaps(at, at + 1), model.contains(at));
    for (std::size_t i = 1; i < extents.size(); ++i)
      ASSERT_LT(extents[i - 1].end, extents[i].begin);
    std::set<std::uintptr_t> gaps;
    for (auto gap = extents.gap(begin, space); gap.begin < space; gap = extents.gap(gap.end, space))
      for (std::uintptr_t at = gap.begin; at < gap.end; ++at) gaps.insert(at);
    for (std::uintptr_t at = begin; at < space; ++at)
      ASSERT_EQ(gaps.contains(at), !model.contains(at));
  }
}

TEST(Extents, ExtentsTakeTheLowestAlignedRange) {
  std::array<Extents::Extent, 8> memory;
  Extents extents(memory.data(), memory.size());
  ASSERT_TRUE(extents.add(0x1000, 0x10000));
  EXPECT_EQ(extents.take(0x2000, 0x1000), 0x1000U);
  EXPECT_EQ(extents.take(0x4000, 0x4000), 0x4000U);
  EXPECT_EQ(extents.take(0x1000, 0x1000), 0x3000U);
  EXPECT_EQ(extents.take(0x10000, 0x1000), 0U);
  EXPECT_TRUE(extents.contains(0x8000, 0x10000));
  EXPECT_EQ(extents.size(), 1U);
}

void learn(WriteProtection& history, std::size_t held, std::size_t broken) {
  for (std::size_t i = 0; i < held + broken; ++i) {
    if (i * broken / (held + broken) != (i + 1) * broken / (held + broken)) {
      history.broken();
    } else {
      history.held();
    }
  }
}

TEST(WriteProtection, WriteProtectionPaysWhereFewProtectionsAreBroken) {
  WriteProtection history;
  EXPECT_TRUE(history.pays());
  learn(history, 93'000, 7'000);
  EXPECT_TRUE(history.pays());
  learn(history, 80'000, 20'000);
  EXPECT_FALSE(history.pays());
}

TEST(WriteProtection, WriteProtectionPaysAgainSoonAfterWritingEnds) {
  WriteProtection history;
  learn(history, 0, 1'000'000);
  EXPECT_FALSE(history.pays());
  learn(history, 4 * WriteProtection::remembered, 0);
  EXPECT_TRUE(history.pays());
}

TEST(WriteProtection, ForbiddenWriteProtectionNeverPays) {
  WriteProtection history;
  history.forbid();
  EXPECT_FALSE(history.pays());
}

}  // namespace test_file
}  // namespace nearfar::tier

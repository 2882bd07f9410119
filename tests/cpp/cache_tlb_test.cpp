#include "sim/cpu/tlb.h"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

/// The TLBs by themselves: which accesses they find, and where the walker reads.
namespace nearfar::sim::cpu {
namespace test_file {

TlbConfig config_of(Bytes page) {
  TlbConfig config;
  config.page = page;
  config.entries = 64;
  config.huge_entries = 32;
  config.ways = 4;
  config.huge_ways = 4;
  config.second_entries = 1536;
  config.second_ways = 12;
  config.directory_entries = 32;
  return config;
}

/// How often each kind was found when `pages` neighbouring pages were visited in turn, after a
/// first round.
struct Round {
  Round(Tlb& tlb, std::uint64_t pages, Bytes page) {
    for (int times = 0; times < 2; ++times) {
      for (std::uint64_t i = 0; i < pages; ++i) {
        const Tlb::Found found = tlb.look_up(Address(i * page), tlb.huge());
        if (found == Tlb::Found::walk) tlb.fill(Address(i * page), tlb.huge());
        if (times == 0) continue;
        first += found == Tlb::Found::first ? 1 : 0;
        second += found == Tlb::Found::second ? 1 : 0;
        walks += found == Tlb::Found::walk ? 1 : 0;
      }
    }
  }
  std::uint64_t first = 0, second = 0, walks = 0;
};

TEST(Tlb, ATlbReachesAsManyPagesAsItHasEntries) {
  for (const Bytes page : {Tlb::small_page, Tlb::huge_page}) {
    const std::uint64_t entries = page == Tlb::small_page ? 64 : 32;
    Tlb fits(config_of(page), 1);
    EXPECT_EQ(Round(fits, entries, page).first, entries);
    Tlb beyond(config_of(page), 1);
    EXPECT_EQ(Round(beyond, 2 * entries, page).second, 2 * entries);
    Tlb second(config_of(page), 1);
    EXPECT_EQ(Round(second, 1536, page).second, 1536u);
    Tlb neither(config_of(page), 1);
    EXPECT_EQ(Round(neither, 2 * 1536, page).walks, 2 * 1536u);
  }
}

TEST(Tlb, ATlbUsesOneEntryForAllOfAPage) {
  Tlb tlb(config_of(Tlb::huge_page), 1);
  EXPECT_EQ(tlb.look_up(Address(5), true), Tlb::Found::walk);
  EXPECT_EQ(tlb.look_up(Address(5), true), Tlb::Found::walk);
  tlb.fill(Address(5), true);
  EXPECT_EQ(tlb.look_up(Address(Tlb::huge_page - 1), true), Tlb::Found::first);
  EXPECT_EQ(tlb.look_up(Address(Tlb::huge_page), true), Tlb::Found::walk);
}

TEST(Tlb, ATlbReadsTheDirectoryOnlyForSmallPagesWhoseEntryIsNotRemembered) {
  Tlb huge(config_of(Tlb::huge_page), 1);
  EXPECT_FALSE(huge.reads_directory(Address(0), true));
  Tlb small(config_of(Tlb::small_page), 1);
  EXPECT_TRUE(small.reads_directory(Address(0), false));
  EXPECT_FALSE(small.reads_directory(Address(Tlb::huge_page - 1), false));
  for (std::uint64_t i = 1; i <= 32; ++i) {
    EXPECT_TRUE(small.reads_directory(Address(i * Tlb::huge_page), false));
  }
  EXPECT_TRUE(small.reads_directory(Address(0), false));
}

TEST(Tlb, ATlbHasEightEntriesInALineOfTheTables) {
  std::set<Line> entries, directories;
  for (std::uint64_t page = 0; page < 4'096; ++page) {
    const Address address(page * Tlb::small_page);
    entries.insert(Tlb::entry_line(address, false));
    directories.insert(Tlb::directory_line(address));
  }
  EXPECT_EQ(entries.size(), 512u);
  EXPECT_EQ(directories.size(), 1u);
  EXPECT_FALSE(entries.contains(*directories.begin()));
  EXPECT_GE(*entries.begin(), Tlb::tables);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

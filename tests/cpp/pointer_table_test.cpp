#include <algorithm>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "machine_fixture.h"
#include "sim/nvdimm/pretranslation.h"

namespace nearfar::sim::nvdimm {
namespace test_file {

constexpr Bytes page = 4096;

PretranslationConfig table_of(std::uint64_t parts, std::uint32_t slots,
                              Replacement policy = Replacement::lru) {
  PretranslationConfig config;
  config.slots = slots;
  config.table = parts * config.part();
  config.policy = policy;
  config.rlb_entries = 4;
  return config;
}

/// The same table by brute force: a list of pages, the next to go in front, and lists of entries.
class PlainTable {
 public:
  PlainTable(std::uint64_t parts, std::uint32_t slots) : parts_(parts), slots_(slots) {}

  std::optional<std::uint64_t> find(std::uint64_t pointer) {
    if (!use(pointer / page)) return std::nullopt;
    for (const auto& [offset, frame] : line_of(pointer)) {
      if (offset == pointer % page) return frame;
    }
    return std::nullopt;
  }
  void put(std::uint64_t pointer, std::uint64_t frame) {
    if (!use(pointer / page)) {
      if (pages_.size() == parts_) {
        entries_.erase(pages_.front());
        pages_.pop_front();
      }
      pages_.push_back(pointer / page);
    }
    auto& line = line_of(pointer);
    for (auto& [offset, old] : line) {
      if (offset == pointer % page) {
        old = frame;
        return;
      }
    }
    if (line.size() == std::min(slots_, 8u)) line.pop_front();
    line.emplace_back(pointer % page, frame);
  }

 private:
  using Line = std::deque<std::pair<std::uint64_t, std::uint64_t>>;

  bool use(std::uint64_t number) {
    const auto found = std::find(pages_.begin(), pages_.end(), number);
    if (found == pages_.end()) return false;
    pages_.splice(pages_.end(), pages_, found);
    return true;
  }
  Line& line_of(std::uint64_t pointer) {
    return entries_[pointer / page][pointer % page / 8 % std::max(slots_ / 8, 1u)];
  }

  std::uint64_t parts_;
  std::uint32_t slots_;
  std::list<std::uint64_t> pages_;
  std::map<std::uint64_t, std::map<std::uint64_t, Line>> entries_;
};

TEST(PointerTable, RemembersWhatABruteForceTableOfItsSizeRemembers) {
  for (const std::uint32_t slots : {1u, 2u, 8u, 32u}) {
    constexpr std::uint64_t parts = 12;
    PointerTable table(table_of(parts, slots), page, Address(0), 1);
    PlainTable plain(parts, slots);
    Rng rng(slots);
    for (int i = 0; i < 50'000; ++i) {
      const std::uint64_t pointer = rng.below(20) * page + rng.below(64) * 8 + rng.below(2) * 3;
      if (rng.below(2) == 0) {
        const std::uint64_t frame = rng.below(std::uint64_t{1} << 36);
        table.put(Address(pointer), frame);
        plain.put(pointer, frame);
      } else {
        ASSERT_EQ(table.find(Address(pointer)), plain.find(pointer)) << slots << " " << i;
      }
    }
  }
}

TEST(PointerTable, EveryEntryLiesInItsPartOfTheMemoryThatTheTableHas) {
  constexpr std::uint64_t parts = 5;
  const PretranslationConfig config = table_of(parts, 32);
  PointerTable table(config, page, Address(1 << 20), 1);
  for (std::uint64_t pointer = 0; pointer < parts * page; pointer += 8) {
    const PointerTable::Change change = table.put(Address(pointer), 7);
    const Address line = table.line_of(change.part, Address(pointer));
    EXPECT_GE(line.value(), (1u << 20) + change.part * config.part());
    EXPECT_LT(line.value(), (1u << 20) + (change.part + 1) * config.part());
    EXPECT_EQ(change.new_part, pointer % page == 0);
    EXPECT_FALSE(change.lost_page);
  }
}

TEST(PointerTable, APageWithoutAPartTakesThatOfThePageUsedLongestAgo) {
  PointerTable table(table_of(2, 8), page, Address(0), 1);
  table.put(Address(0 * page), 10);
  table.put(Address(1 * page), 11);
  EXPECT_EQ(table.find(Address(0)), 10u);
  EXPECT_EQ(table.put(Address(2 * page), 12).lost_page, 1u);
  EXPECT_EQ(table.find(Address(1 * page)), std::nullopt);
  EXPECT_EQ(table.find(Address(2 * page)), 12u);
}

TEST(PointerBuffer, TellsOnlyOfWhatTheTableDoesNotHaveWhenItHasToLeave) {
  PointerBuffer buffer(table_of(1, 1), 1);
  EXPECT_FALSE(buffer.put(Address(8), 1, true));
  EXPECT_FALSE(buffer.put(Address(16), 2, false));
  EXPECT_FALSE(buffer.put(Address(24), 3, false));
  EXPECT_FALSE(buffer.put(Address(24), 4, true));  // changed now
  EXPECT_FALSE(buffer.put(Address(32), 5, false));
  const auto first = buffer.put(Address(40), 6, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pointer, Address(8));
  EXPECT_EQ(first->frame, 1u);
  EXPECT_FALSE(buffer.put(Address(48), 7, false));  // 16 leaves
  const auto changed = buffer.put(Address(56), 8, false);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->frame, 4u);
  EXPECT_EQ(buffer.find(Address(24)), std::nullopt);
  EXPECT_EQ(buffer.find(Address(40)), 6u);
}

/// Why a machine is refused.
std::string refusal(sim::testing::Overrides overrides) {
  overrides.emplace_back("nvdimm.pretranslation.enabled", "true");
  try {
    static_cast<void>(config_from(sim::testing::optane(overrides)));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(PretranslationConfig, WhatCannotBeIsRefusedInOneLine) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"nvdimm.pretranslation.rlb.size", "0"}}),
            "model: nvdimm.pretranslation.rlb.size is 0 B, which holds no entry; expected at least "
            "8 B");
  const std::string large = refusal({{"nvdimm.pretranslation.table", "68719476736"}});
  EXPECT_TRUE(
      large.starts_with("model: nvdimm.pretranslation.table is 68719476736 B, expected at "
                        "most the "))
      << large;
  EXPECT_TRUE(large.ends_with("of the on-DIMM DRAM; shrink it or enlarge nvdimm.dram")) << large;
  EXPECT_EQ(large.find('\n'), std::string::npos);
  EXPECT_EQ(refusal({{"nvdimm.pretranslation.table", "8"}}),
            "model: nvdimm.pretranslation.table is 8 B, expected room for the 8 entries of one "
            "page, 64 B");
}

}  // namespace test_file
}  // namespace nearfar::sim::nvdimm

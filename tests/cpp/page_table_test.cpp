#include "frontend/page_table.h"

#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "frontend/tally.h"

namespace nearfar::frontend {
namespace test_file {

constexpr std::uint64_t small = 4096, huge = std::uint64_t{2} << 20;

/// Pages by their addresses, of either size, as plainly as can be.
struct Plain {
  std::map<std::uint64_t, PageTable::Word> of_small, of_huge;

  [[nodiscard]] PageTable::Found find(std::uint64_t address) const {
    if (const auto at = of_small.find(address / small * small); at != of_small.end()) {
      return {at->second, false};
    }
    const auto at = of_huge.find(address / huge * huge);
    return at == of_huge.end() ? PageTable::Found{} : PageTable::Found{at->second, true};
  }
};

TEST(PageTable, APageTableFindsWhatAMapWouldInAllOf64Bits) {
  PageTable table;
  Plain plain;
  Rng rng(1);
  const std::uint64_t bases[] = {0, 0x4000000000, 0x7fff00000000, ~std::uint64_t{0} << 21};
  for (PageTable::Word word = 1; word < 20'000; ++word) {
    const std::uint64_t address = bases[rng.below(4)] + rng.below(huge / 4) * 4;
    const bool is_huge = rng.below(8) == 0;
    const std::uint64_t page = is_huge ? address / huge * huge : address / small * small;
    auto& same = is_huge ? plain.of_huge : plain.of_small;
    const bool gone = rng.below(2) == 0;
    table.set(page, is_huge, gone ? 0 : word);
    same.erase(page);
    if (!gone) same.emplace(page, word);
    const PageTable::Found found = table.find(address);
    const PageTable::Found expected = plain.find(address);
    ASSERT_EQ(found.word, expected.word);
    ASSERT_EQ(found.word != 0 && found.huge, expected.word != 0 && expected.huge);
    ASSERT_EQ(table.size(), plain.of_small.size() + plain.of_huge.size());
  }
}

TEST(PageTable, APageTableTellsThePagesOfARangeByAddressWhileTheyGo) {
  PageTable table;
  for (const std::uint64_t page : {huge - small, huge, huge + small, 600 * huge, 601 * huge}) {
    table.set(page, page >= 600 * huge, 7);
  }
  std::vector<std::uint64_t> told;
  table.each(huge, 601 * huge, [&](std::uint64_t page, bool is_huge, PageTable::Word word) {
    EXPECT_EQ(word, 7u);
    told.push_back(page);
    table.set(page, is_huge, 0);
  });
  EXPECT_EQ(told, (std::vector<std::uint64_t>{huge, huge + small, 600 * huge}));
  EXPECT_EQ(table.size(), 2u);
}

TEST(Tally, ATallyCountsOnWhereAByteAndAWordEnd) {
  Tally tally(3);
  for (const std::uint64_t start : {std::uint64_t{0xfe}, std::uint64_t{0xfffffffe}}) {
    tally.set(1, start);
    for (std::uint64_t more = 1; more <= 3; ++more) {
      tally.add(1);
      EXPECT_EQ(tally[1], start + more);
    }
    EXPECT_EQ(tally[0], 0u);
  }
  tally.set(1, 0);
  EXPECT_EQ(tally[1], 0u);
}

}  // namespace test_file
}  // namespace nearfar::frontend

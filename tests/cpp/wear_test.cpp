#include "sim/nvdimm/wear.h"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace nearfar::sim::nvdimm {
namespace test_file {

WearConfig config_of(std::uint64_t writes, double spread, std::uint64_t spares) {
  WearConfig config;
  config.writes = writes;
  config.spread = spread;
  config.block = 4096;
  config.spares = spares;
  return config;
}

TEST(Wear, WearLevellingLeavesEveryBlockInItsPlaceAtFirst) {
  const WearLeveler wear(config_of(100, 0.1, 4), 1 << 20, 1);
  for (std::uint64_t address = 0; address < 1 << 20; address += 1000) {
    EXPECT_EQ(wear.translate(Address(address)), Address(address));
  }
  EXPECT_EQ(wear.media_blocks(), (1u << 20) / 4096 + 4);
}

TEST(Wear, RemappingStaysAPermutationThatMovesNothingElse) {
  constexpr Bytes capacity = 100 * 4096;
  for (const std::uint64_t spares : {1u, 2u, 9u}) {
    WearLeveler wear(config_of(5, 0.5, spares), capacity, spares);
    Rng rng(spares);
    std::vector<std::uint64_t> place(100);
    for (std::uint64_t block = 0; block < 100; ++block) place[block] = block;
    std::uint64_t moves = 0;
    while (moves < 5000) {
      const std::uint64_t block = rng.below(rng.below(2) == 0 ? 100 : 3);
      const Address address(block * 4096 + rng.below(4096));
      const auto move = wear.count_write(address);
      if (!move) continue;
      EXPECT_TRUE(wear.finish(move->number).empty());
      ++moves;
      ASSERT_EQ(move->block, block);
      ASSERT_EQ(move->from, Address(place[block] * 4096));
      ASSERT_NE(move->to, move->from);
      place[block] = move->to.value() / 4096;
      std::set<std::uint64_t> taken;
      for (std::uint64_t other = 0; other < 100; ++other) {
        ASSERT_EQ(wear.place_of(other), place[other]);
        ASSERT_EQ(wear.translate(Address(other * 4096 + 17)), Address(place[other] * 4096 + 17));
        taken.insert(place[other]);
      }
      ASSERT_EQ(taken.size(), 100u) << "two blocks in one place";
      ASSERT_LT(*taken.rbegin(), wear.media_blocks());
    }
  }
}

TEST(Wear, AMoveTakesTheFreeBlockThatHasWaitedLongest) {
  WearLeveler wear(config_of(1, 0, 2), 10 * 4096, 1);
  EXPECT_EQ(wear.count_write(Address(0))->to, Address(10 * 4096));
  EXPECT_EQ(wear.count_write(Address(4096))->to, Address(11 * 4096));
  EXPECT_EQ(wear.count_write(Address(2 * 4096))->to, Address(0)) << "where the first has left";
}

TEST(Wear, WithoutAFreeBlockNothingMoves) {
  WearLeveler wear(config_of(1, 0, 0), 10 * 4096, 1);
  EXPECT_FALSE(wear.count_write(Address(4096)));
  EXPECT_EQ(wear.place_of(1), 1u);
}

TEST(Wear, ABlockThatMovesDoesNotMoveAgainBeforeItHasArrived) {
  WearLeveler wear(config_of(1, 0, 2), 10 * 4096, 1);
  const auto first = wear.count_write(Address(4096));
  ASSERT_TRUE(first);
  EXPECT_FALSE(wear.count_write(Address(4096 + 256)));
  static_cast<void>(wear.finish(first->number));
  EXPECT_TRUE(wear.count_write(Address(4096)));
}

TEST(Wear, AccessesToABlockThatMovesWaitInTheirOrderAndOthersDoNot) {
  WearLeveler wear(config_of(1, 0, 2), 10 * 4096, 1);
  EXPECT_FALSE(wear.waits(Address(4096), 7));
  const auto move = wear.count_write(Address(4096));
  ASSERT_TRUE(move);
  EXPECT_TRUE(wear.waits(Address(4096 + 64), 8));
  EXPECT_FALSE(wear.waits(Address(2 * 4096), 9));
  EXPECT_TRUE(wear.waits(Address(4096), 10));
  EXPECT_EQ(wear.finish(move->number), (std::vector<WearLeveler::Waiter>{8, 10}));
  EXPECT_FALSE(wear.waits(Address(4096), 11));
}

TEST(Wear, MovesAreCountedByBlockUntilTheyAreForgotten) {
  WearLeveler wear(config_of(1, 0, 2), 10 * 4096, 1);
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(wear.finish(wear.count_write(Address(4096))->number));
  }
  static_cast<void>(wear.finish(wear.count_write(Address(2 * 4096))->number));
  EXPECT_EQ(wear.moves_of(Address(4096 + 100)), 3u);
  EXPECT_EQ(wear.moves_of(Address(2 * 4096)), 1u);
  EXPECT_EQ(wear.moves_of(Address(0)), 0u);
  wear.forget_moves();
  EXPECT_EQ(wear.moves_of(Address(4096)), 0u);
}

TEST(Wear, WearLevellingNeverMovesAnythingWhenOff) {
  WearLeveler wear(config_of(0, 0, 4), 10 * 4096, 1);
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(wear.count_write(Address(0)));
}

TEST(Wear, WearLevellingMovesAfterItsShareOfWritesWithinTheSpread) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    WearLeveler wear(config_of(1000, 0.2, 3), 10 * 4096, seed);
    std::set<std::uint64_t> distinct;
    std::uint64_t total = 0;
    for (int move = 0; move < 40; ++move) {
      std::uint64_t writes = 1;
      auto moved = wear.count_write(Address(0));
      for (; !moved; ++writes) moved = wear.count_write(Address(0));
      static_cast<void>(wear.finish(moved->number));
      if (move == 0) {
        ASSERT_GE(writes, 400u);  // half of the way may be behind it
      } else {
        ASSERT_GE(writes, 800u);
        distinct.insert(writes);
        total += writes;
      }
      ASSERT_LE(writes, 1200u);
    }
    EXPECT_GT(distinct.size(), 20u);
    EXPECT_NEAR(static_cast<double>(total) / 39, 1000, 75);  // four standard errors
  }
}

TEST(Wear, WearLevellingCountsEachBlockForItself) {
  WearLeveler wear(config_of(100, 0, 3), 10 * 4096, 1);
  std::uint64_t writes = 1;
  while (!wear.count_write(Address(0))) ++writes;
  for (std::uint64_t i = 1; i < 10; ++i) {
    for (int n = 0; n < 49; ++n) ASSERT_FALSE(wear.count_write(Address(i * 4096)));
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::nvdimm

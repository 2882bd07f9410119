#include "sim/nvdimm/block_table.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace nearfar::sim::nvdimm {
namespace test_file {

/// The same directory as a list per set, searched from end to end.
class NaiveTable {
 public:
  NaiveTable(std::uint32_t entries, std::uint32_t ways, Replacement policy)
      : ways_(ways), policy_(policy), sets_(entries / ways) {}

  bool has(std::uint64_t block) { return find(block) != nullptr; }
  void touch(std::uint64_t block) {
    if (policy_ != Replacement::lru) return;
    auto& set = set_of(block);
    const auto at = std::find_if(set.begin(), set.end(),
                                 [&](const Entry& entry) { return entry.block == block; });
    std::rotate(at, at + 1, set.end());
  }
  bool full(std::uint64_t block) { return set_of(block).size() == ways_; }
  /// Blocks of the set of `block` that may go, the one whose turn it is first.
  std::vector<std::uint64_t> candidates(std::uint64_t block) {
    std::vector<std::uint64_t> blocks;
    for (const Entry& entry : set_of(block)) {
      if (entry.pins == 0) blocks.push_back(entry.block);
    }
    return blocks;
  }
  void replace(std::uint64_t victim, std::uint64_t block) {
    auto& set = set_of(block);
    std::erase_if(set, [&](const Entry& entry) { return entry.block == victim; });
    set.push_back({block, 0});
  }
  void add(std::uint64_t block) { set_of(block).push_back({block, 0}); }
  int& pins(std::uint64_t block) { return find(block)->pins; }
  std::vector<std::uint64_t> blocks() const {
    std::vector<std::uint64_t> all;
    for (const auto& set : sets_) {
      for (const Entry& entry : set) all.push_back(entry.block);
    }
    return all;
  }

 private:
  struct Entry {
    std::uint64_t block;
    int pins;
  };
  std::vector<Entry>& set_of(std::uint64_t block) { return sets_[block % sets_.size()]; }
  Entry* find(std::uint64_t block) {
    for (Entry& entry : set_of(block)) {
      if (entry.block == block) return &entry;
    }
    return nullptr;
  }

  std::uint32_t ways_;
  Replacement policy_;
  std::vector<std::vector<Entry>> sets_;  // the next to go first
};

struct Shape {
  std::uint32_t entries;
  std::uint32_t ways;
};

class BlockTableOf : public ::testing::TestWithParam<std::tuple<Shape, Replacement>> {};

TEST_P(BlockTableOf, ABlockTableAgreesWithASearchedListThroughRandomUse) {
  const auto [shape, policy] = GetParam();
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Rng rng(seed);
    BlockTable table(shape.entries, shape.ways, policy, seed);
    NaiveTable naive(shape.entries, shape.ways, policy);
    // Some far apart, so that the hash table's runs meet at its end.
    const std::uint64_t stride = seed % 2 == 0 ? 1 : 0x1'0000'0001;
    const std::uint64_t universe = 1 + rng.below(4 * shape.entries + 2);
    for (int step = 0; step < 20000; ++step) {
      const std::uint64_t block = rng.below(universe) * stride;
      const BlockTable::Slot slot = table.find(block);
      ASSERT_EQ(slot != BlockTable::none, naive.has(block)) << "step " << step;
      if (slot != BlockTable::none) {
        ASSERT_EQ(table.block(slot), block);
        ASSERT_EQ(table.pinned(slot), naive.pins(block) != 0);
        const std::uint64_t what = rng.below(8);
        if (what == 0) {
          table.pin(slot);
          ++naive.pins(block);
        } else if (what < 4 && naive.pins(block) > 0) {
          table.unpin(slot);
          --naive.pins(block);
        } else {
          table.touch(slot);
          naive.touch(block);
        }
        continue;
      }
      const bool full = naive.full(block);
      const auto candidates = naive.candidates(block);
      const auto before = naive.blocks();
      const BlockTable::Slot inserted = table.insert(block);
      if (full && candidates.empty()) {
        ASSERT_EQ(inserted, BlockTable::none) << "every slot of the set is pinned";
        continue;
      }
      ASSERT_NE(inserted, BlockTable::none);
      ASSERT_EQ(table.evicted(), full);
      ASSERT_EQ(inserted / shape.ways, block % (shape.entries / shape.ways)) << "its set";
      ASSERT_EQ(table.find(block), inserted);
      if (!full) {
        naive.add(block);
      } else {
        std::uint64_t gone = candidates.front();
        if (policy == Replacement::random) {
          for (const std::uint64_t other : before) {
            if (table.find(other) == BlockTable::none) gone = other;
          }
          ASSERT_NE(std::find(candidates.begin(), candidates.end(), gone), candidates.end());
        }
        naive.replace(gone, block);
      }
      if (step % 64 == 0) {
        for (const std::uint64_t other : naive.blocks()) {
          ASSERT_NE(table.find(other), BlockTable::none) << "block " << other << " is lost";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockTableOf,
                         ::testing::Combine(::testing::Values(Shape{1, 1}, Shape{2, 1}, Shape{3, 3},
                                                              Shape{12, 4}, Shape{68, 68},
                                                              Shape{64, 64}, Shape{96, 3},
                                                              Shape{256, 16}),
                                            ::testing::Values(Replacement::fifo, Replacement::lru,
                                                              Replacement::random)));

TEST(BlockTable, RandomReplacementReachesEveryWay) {
  BlockTable table(8, 8, Replacement::random, 3);
  std::set<BlockTable::Slot> used;
  for (std::uint64_t block = 0; block < 8; ++block) table.insert(block);
  for (std::uint64_t block = 8; block < 200; ++block) used.insert(table.insert(block));
  EXPECT_EQ(used.size(), 8u);
}

TEST(BlockTable, SameOrderEvictionStartsWithOneBlockTooMany) {
  // What the hardware shows of its read-modify-write buffer: no miss at 64 blocks, only
  // misses at 65.
  for (const std::uint64_t blocks : {64u, 65u}) {
    BlockTable table(64, 64, Replacement::fifo, 1);
    std::uint64_t hits = 0;
    for (std::uint64_t i = 0; i < 10 * blocks; ++i) {
      const auto slot = table.find(i % blocks);
      if (slot == BlockTable::none) {
        table.insert(i % blocks);
      } else {
        ++hits;
        table.touch(slot);
      }
    }
    EXPECT_EQ(hits, blocks == 64 ? 9 * 64u : 0u);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::nvdimm

#include "sim/cpu/cache.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

/// One cache against models of its replacement written another way.
namespace nearfar::sim::cpu {
namespace test_file {

CacheConfig config_of(Bytes size, std::uint32_t ways, Policy policy, std::uint32_t slices = 1) {
  CacheConfig config;
  config.size = size;
  config.ways = ways;
  config.policy = policy;
  config.slices = slices;
  return config;
}

/// Whether an access hit, the line brought in if not.
bool access(Cache& cache, Line line) {
  const Cache::Slot slot = cache.find(line);
  if (slot == Cache::none) {
    cache.insert(line, false);
    return false;
  }
  cache.use(slot);
  return true;
}

TEST(Cache, ACacheWithLruHasTheHitsOfAListOfLastUses) {
  Cache cache(config_of(16 * 1024, 8, Policy::lru), 1);
  std::map<std::uint64_t, std::list<Line>> sets;
  Rng rng(7);
  std::uint64_t hits = 0;
  for (int i = 0; i < 50'000; ++i) {
    const Line line = rng.below(600);
    std::list<Line>& set = sets[line % 32];
    const auto found = std::find(set.begin(), set.end(), line);
    const bool expected = found != set.end();
    if (expected) set.erase(found);
    set.push_front(line);
    if (set.size() > 8) set.pop_back();
    ASSERT_EQ(access(cache, line), expected) << "access " << i;
    hits += expected ? 1 : 0;
  }
  EXPECT_GT(hits, 10'000u);
  EXPECT_LT(hits, 40'000u);
}

/// The tree written as it is drawn: each node knows its half, and points to the other one.
class DrawnTree {
 public:
  explicit DrawnTree(std::uint32_t ways) : ways_(ways) {}
  void use(std::uint32_t way) { use(way, 0, ways_); }
  [[nodiscard]] std::uint32_t victim() const { return victim(0, ways_); }

 private:
  using Node = std::pair<std::uint32_t, std::uint32_t>;
  void use(std::uint32_t way, std::uint32_t from, std::uint32_t to) {
    if (to - from == 1) return;
    const std::uint32_t middle = (from + to) / 2;
    const bool left = way < middle;
    points_right_[{from, to}] = left;
    left ? use(way, from, middle) : use(way, middle, to);
  }
  [[nodiscard]] std::uint32_t victim(std::uint32_t from, std::uint32_t to) const {
    if (to - from == 1) return from;
    const std::uint32_t middle = (from + to) / 2;
    const auto node = points_right_.find(Node{from, to});
    const bool right = node != points_right_.end() && node->second;
    return right ? victim(middle, to) : victim(from, middle);
  }
  std::uint32_t ways_;
  std::map<Node, bool> points_right_;
};

TEST(Cache, ACacheWithPlruThrowsOutTheLineThatADrawnTreePointsTo) {
  for (const std::uint32_t ways : {1u, 2u, 8u, 16u}) {
    Cache cache(config_of(ways * line_bytes, ways, Policy::plru), 1);
    DrawnTree tree(ways);
    std::vector<Line> lines;
    Rng rng(ways);
    for (int i = 0; i < 5'000; ++i) {
      const Line line = rng.below(2 * ways + 1);
      const auto found = std::find(lines.begin(), lines.end(), line);
      ASSERT_EQ(access(cache, line), found != lines.end());
      auto way = static_cast<std::uint32_t>(found - lines.begin());
      if (found == lines.end()) {
        if (lines.size() < ways) {
          lines.push_back(line);
        } else {
          way = tree.victim();
          lines[way] = line;
        }
      }
      tree.use(way);
    }
  }
}

TEST(Cache, ACacheWithPlruOfAnyNumberOfWaysKeepsTheLineUsedLast) {
  for (const std::uint32_t ways : {3u, 12u, 20u, 63u}) {
    Cache cache(config_of(ways * line_bytes, ways, Policy::plru), 1);
    Rng rng(ways);
    Line last = 0;
    for (int i = 0; i < 5'000; ++i) {
      ASSERT_TRUE(i == 0 || cache.find(last) != Cache::none) << ways << " ways";
      last = rng.below(2 * ways);
      access(cache, last);
    }
  }
}

TEST(Cache, ACacheWithQlruKeepsYoungLinesAndThrowsTheLeftmostOldOneOut) {
  Cache cache(config_of(4 * line_bytes, 4, Policy::qlru), 1);
  for (Line line = 0; line < 4; ++line) access(cache, line);  // all of age 1
  access(cache, 2);                                           // 2: age 0
  access(cache, 10);  // ages 3 3 2 3: the leftmost leaves
  EXPECT_EQ(cache.find(0), Cache::none);
  access(cache, 11);
  EXPECT_EQ(cache.find(1), Cache::none);
  access(cache, 12);  // 3 has age 3
  EXPECT_EQ(cache.find(3), Cache::none);
  access(cache, 13);  // now 10, 11, 12 are of age 1, 2 of age 2: it is the oldest
  EXPECT_EQ(cache.find(2), Cache::none);
  EXPECT_NE(cache.find(10), Cache::none);
}

TEST(Cache, ACacheWithRandomReplacementLosesAnyLine) {
  Cache cache(config_of(8 * line_bytes, 8, Policy::random), 3);
  std::set<Cache::Slot> left;
  for (Line line = 0; line < 8; ++line) access(cache, line);
  for (Line line = 8; line < 200; ++line) {
    access(cache, line);
    left.insert(cache.find(line));
  }
  EXPECT_EQ(left.size(), 8u);
}

TEST(Cache, ACacheHoldsItsSizeAndReportsTheLinesThatItLoses) {
  for (const Policy policy : {Policy::lru, Policy::plru, Policy::qlru, Policy::random}) {
    Cache cache(config_of(64 * 1024, 16, policy), 1);
    std::set<Line> here;
    Rng rng(5);
    for (int i = 0; i < 20'000; ++i) {
      const Line line = rng.below(5'000);
      ASSERT_EQ(cache.find(line) != Cache::none, here.contains(line));
      if (here.contains(line)) continue;
      const auto victim = cache.insert(line, line % 3 == 0);
      here.insert(line);
      if (!victim) continue;
      ASSERT_EQ(here.erase(victim->line), 1u);
      ASSERT_EQ(victim->dirty, victim->line % 3 == 0);
    }
    EXPECT_EQ(cache.lines(), 1024u);
    EXPECT_EQ(here.size(), 1024u);
    const auto dirty = std::count_if(here.begin(), here.end(), [](Line l) { return l % 3 == 0; });
    EXPECT_EQ(cache.dirty_lines(), static_cast<std::uint64_t>(dirty));
  }
}

TEST(Cache, ACacheSpreadsAnyRunOfLinesEvenlyOverItsSlices) {
  const Cache cache(config_of(33 << 20, 11, Policy::random, 24), 1);
  for (const Line first : {Line{0}, Line{1} << 25, Line{123'456}}) {
    std::map<std::uint64_t, std::uint64_t> lines_of_slice;
    std::map<std::uint64_t, std::uint64_t> lines_of_set;
    for (Line line = first; line < first + (1 << 19); ++line) {
      ++lines_of_slice[cache.set_of(line) / 2048];
      ++lines_of_set[cache.set_of(line)];
    }
    ASSERT_EQ(lines_of_slice.size(), 24u);
    for (const auto& [slice, lines] : lines_of_slice) {
      EXPECT_NEAR(static_cast<double>(lines), (1 << 19) / 24.0, (1 << 19) / 24.0 / 20) << slice;
    }
    // 10.7 lines a set on average; none is left out or takes thrice its share.
    for (const auto& [set, lines] : lines_of_set) ASSERT_LT(lines, 33u) << set;
    EXPECT_GT(lines_of_set.size(), 24u * 2048u * 99 / 100);
  }
}

TEST(Policy, AnUnknownReplacementPolicyIsRefusedWithItsKey) {
  EXPECT_EQ(policy_of("plru", "cpu.l1.policy"), Policy::plru);
  try {
    (void)policy_of("mru", "cpu.l1.policy");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu.l1.policy"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("mru"), std::string::npos);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

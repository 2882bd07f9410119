#include "policy/offline/flat.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "policy/offline/flat_bound.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace test_file {

constexpr Tick step(1000);
constexpr Tick interval = Touches::steps_a_decision * step;
constexpr FlatCosts costs{.far_read = Tick(300),
                          .far_write = Tick(20),
                          .exchange = Tick(1000),
                          .scan = Tick(2),
                          .found = Tick(0)};

/// Each interval reads the pages given for it.
Touches reads(const std::vector<std::vector<std::uint64_t>>& intervals) {
  Touches touches(step);
  std::uint64_t at = 0;
  for (const auto& pages : intervals) {
    for (const std::uint64_t page : pages) touches.access(page, false, at * interval);
    ++at;
  }
  return touches;
}

FlatOptions with(const std::string& policy, PageIndex near, std::uint64_t pairs = 8) {
  return {.policy = policy,
          .near = near,
          .pairs = pairs,
          .detector = Detector::accessed,
          .costs = costs};
}

Touches random_reads(std::uint64_t seed, PageIndex pages, int intervals) {
  Rng rng(seed);
  Touches touches(step);
  for (int i = 0; i < intervals; ++i) {
    const std::uint64_t hot = rng.below(pages);
    for (std::uint64_t n = 0; n < 40; ++n) {
      const std::uint64_t page =
          rng.below(3) != 0 ? (hot + rng.below(2)) % pages : rng.below(pages);
      touches.access(page, rng.below(4) == 0,
                     static_cast<std::uint64_t>(i) * interval + 2 * n * step);
    }
  }
  return touches;
}

TEST(FlatReplay, StaticServesTheFirstPagesNearAndTheRestFar) {
  const Touches touches = reads({{0, 1, 2, 2, 0}, {2, 1}});
  const FlatResult result = replay_flat(touches, with("static", 2));
  ASSERT_EQ(result.intervals.size(), 2u);
  EXPECT_EQ(result.intervals[0], (FlatInterval{.near_reads = 3, .far_reads = 2}));
  EXPECT_EQ(result.intervals[1], (FlatInterval{.near_reads = 1, .far_reads = 1}));
  EXPECT_EQ(result.extra, 3 * costs.far_read);
}

TEST(FlatReplay, AWriteAndAReadOfFarMemoryHaveTheirOwnCosts) {
  Touches touches(step);
  touches.access(7, false, Tick{});
  touches.access(9, true, Tick{});
  touches.access(9, false, Tick{});
  EXPECT_EQ(replay_flat(touches, with("static", 1)).extra, costs.far_read + costs.far_write);
  EXPECT_EQ(all_far(touches, costs), 2 * costs.far_read + costs.far_write);
}

TEST(FlatReplay, AnIntervalWithoutAccessesHasADecisionAllTheSame) {
  Touches touches(step);
  touches.access(0, false, Tick{});
  touches.access(0, false, 3 * interval);
  EXPECT_EQ(touches.intervals(), 4u);
  EXPECT_EQ(replay_flat(touches, with("static", 1)).intervals.size(), 4u);
}

TEST(FlatReplay, EveryPolicyAccountsForEveryAccessAndKeepsNearMemoryWithinItsSize) {
  for (const PlacementEntry& entry : placements()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Touches touches = random_reads(seed, 30, 40);
      const FlatResult result = replay_flat(touches, with(std::string(entry.name), 7, 3));
      const FlatInterval& all = result.total;
      EXPECT_EQ(all.near_reads + all.far_reads, touches.reads()) << entry.name;
      EXPECT_EQ(all.near_writes + all.far_writes, touches.writes()) << entry.name;
      EXPECT_EQ(result.intervals.size(), touches.intervals()) << entry.name;
      for (const FlatInterval& one : result.intervals) {
        EXPECT_LE(one.promoted, 3u) << entry.name;
      }
    }
  }
}

TEST(FlatReplay, TheSameTouchesGiveTheSameResultBitForBit) {
  const Touches touches = random_reads(3, 50, 60);
  for (const PlacementEntry& entry : placements()) {
    const FlatOptions options = with(std::string(entry.name), 9);
    const FlatResult once = replay_flat(touches, options);
    const FlatResult again = replay_flat(touches, options);
    EXPECT_EQ(once.intervals, again.intervals) << entry.name;
    EXPECT_EQ(once.extra, again.extra) << entry.name;
  }
}

TEST(FlatReplay, AnUnknownDetectorIsRefusedWithTheNearestName) {
  try {
    static_cast<void>(detector_named("dirtied"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean dirty?"), std::string::npos);
  }
}

TEST(Detectors, DirtyBitsTellOfWritesAloneAndAccessedBitsOfBoth) {
  for (const Detector detector : {Detector::dirty, Detector::accessed}) {
    Seen seen(detector, 1);
    seen.add(1);
    seen.accessed(0, false, 0);
    seen.accessed(1, true, 0);
    std::vector<Scan> found;
    seen.scan(found);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].accessed, detector == Detector::accessed);
    EXPECT_TRUE(found[1].accessed);
    seen.scan(found);
    EXPECT_FALSE(found[1].accessed);
  }
}

TEST(Detectors, ADetectorThatSamplesCountsOneAccessInAPeriod) {
  Seen seen(Detector::sampled, 3);
  seen.add(0);
  for (int i = 0; i < 10; ++i) seen.accessed(0, false, 0);
  std::vector<Scan> found;
  seen.scan(found);
  EXPECT_EQ(found[0].samples, 3u);
  EXPECT_EQ(seen.told(), 3u);
}

TEST(Detectors, ProbingLooksAtEachPageOnceInEightScans) {
  Seen seen(Detector::probe, 1);
  seen.add(15);
  std::vector<int> looks(16);
  std::vector<Scan> found;
  for (int scan = 0; scan < 8; ++scan) {
    seen.accessed(5, false, 9);
    seen.scan(found);
    for (const Scan& one : found) {
      ++looks[one.page];
      EXPECT_EQ(one.accessed, one.page == 5);
      EXPECT_EQ(one.delay, one.accessed ? 9 : 0);
    }
  }
  EXPECT_EQ(looks, std::vector<int>(16, 1));
}

/// The least extra time of all sequences, by trying every set of near pages in every interval.
Tick best_of_all(const Touches& touches, PageIndex near, std::uint64_t pairs) {
  const PageIndex pages = touches.pages();
  const auto intervals = static_cast<std::size_t>(touches.intervals());
  std::vector<std::vector<std::uint64_t>> saved(intervals, std::vector<std::uint64_t>(pages));
  std::vector<std::uint64_t> born(pages, intervals);
  std::uint64_t steps = 0;
  for (const Touches::Touch touch : touches.all()) {
    if (touch.is_steps()) {
      steps += touch.value();
      continue;
    }
    const std::uint64_t now = steps / Touches::steps_a_decision;
    born[touch.value()] = std::min(born[touch.value()], now);
    saved[now][touch.value()] += (touch.write() ? costs.far_write : costs.far_read).ps();
  }
  constexpr std::int64_t impossible = -1'000'000'000;
  std::vector<std::int64_t> best(std::size_t{1} << pages, impossible);
  best[0] = 0;
  for (std::size_t at = 0; at < intervals; ++at) {
    std::vector<std::int64_t> next(best.size(), impossible);
    for (std::size_t to = 0; to < next.size(); ++to) {
      if (std::popcount(to) > static_cast<int>(near)) continue;
      std::int64_t gain = 0;
      std::size_t there = 0;
      std::size_t fresh = 0;
      for (PageIndex page = 0; page < pages; ++page) {
        const std::size_t bit = std::size_t{1} << page;
        if (born[page] < at) there |= bit;
        if (born[page] == at) fresh |= bit;
        if ((to & bit) != 0) gain += static_cast<std::int64_t>(saved[at][page]);
      }
      if ((to & ~(there | fresh)) != 0) continue;
      for (std::size_t from = 0; from < best.size(); ++from) {
        const int in = std::popcount(to & there & ~from);
        const int out = std::popcount(from & ~to);
        if (best[from] == impossible || in > static_cast<int>(pairs)) continue;
        const auto moving = static_cast<std::int64_t>(costs.exchange.ps()) * (in + out) / 2;
        next[to] = std::max(next[to], best[from] + gain - moving);
      }
    }
    best = next;
  }
  const std::int64_t most = *std::ranges::max_element(best);
  return Tick(all_far(touches, costs).ps() - static_cast<std::uint64_t>(most));
}

TEST(FlatBound, IsNoWorseThanTheBestOfAllSequencesAndNearIt) {
  double bounds = 0;
  double bests = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Touches touches = random_reads(seed, 6, 8);
    const Tick best = best_of_all(touches, 2, 1);
    const FlatBound bound = flat_bound(touches, with("", 2, 1));
    EXPECT_LE(bound.sequence, best) << seed;
    EXPECT_LE(best, bound.hottest) << seed;
    const double all = all_far(touches, costs).ns();
    bounds += all - bound.sequence.ns();
    bests += all - best.ns();
  }
  EXPECT_LT(bounds, 1.05 * bests);
}

TEST(FlatBound, NoPolicyBeatsIt) {
  for (const PlacementEntry& entry : placements()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Touches touches = random_reads(seed, 60, 80);
      const FlatOptions options = with(std::string(entry.name), 6, 4);
      EXPECT_GE(replay_flat(touches, options).extra, flat_bound(touches, options).sequence)
          << entry.name << " " << seed;
    }
  }
}

TEST(FlatBound, IsNothingWhereAllPagesAreNear) {
  const Touches touches = random_reads(1, 6, 8);
  EXPECT_EQ(flat_bound(touches, with("", 6)).sequence, Tick{});
  EXPECT_EQ(flat_bound(touches, with("", 6)).hottest, Tick{});
}

}  // namespace test_file
}  // namespace nearfar::policy

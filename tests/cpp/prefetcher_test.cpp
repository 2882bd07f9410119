#include "sim/cpu/prefetcher.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace nearfar::sim::cpu {
namespace test_file {

constexpr Line page = 64;  // lines
constexpr PrefetchConfig streamer{
    .stream = true, .streams = 4, .degree = 2, .distance = 20, .next_page = true};

/// What is proposed while a program goes from line to line, `first` to `last`.
std::vector<Line> proposed(Prefetcher& prefetcher, Line first, Line last,
                           Prefetcher::Seen seen = {}) {
  std::vector<Line> wanted;
  for (Line line = first;; line += last > first ? 1 : ~Line{0}) {
    seen.line = line;
    prefetcher.observe(seen, wanted);
    if (line == last) return wanted;
  }
}

TEST(Prefetcher, ThePrefetcherTakesASequenceAcrossTheEndOfItsPage) {
  Prefetcher upward(streamer);
  const std::vector<Line> wanted = proposed(upward, 0, page - 1);
  EXPECT_EQ(wanted.back(), page - 1 + 20);
  // In the next page it has nothing to learn, and asks for no line again.
  const std::vector<Line> further = proposed(upward, page, page);
  EXPECT_EQ(further, std::vector<Line>{page + 20});

  Prefetcher downward(streamer);
  EXPECT_EQ(proposed(downward, 2 * page - 1, page).back(), page - 20);
  EXPECT_EQ(proposed(downward, page - 1, 0).back(), 0u);  // and stops at the first line of all
}

TEST(Prefetcher, WithoutNextPageThePrefetcherStopsAtThePagesEnd) {
  PrefetchConfig config = streamer;
  config.next_page = false;
  Prefetcher confined(config);
  EXPECT_EQ(proposed(confined, 0, page - 1).back(), page - 1);
  EXPECT_TRUE(proposed(confined, page, page + 7).empty());
}

TEST(Prefetcher, ThePrefetcherRunsLessFarAheadWhileMuchIsOutstanding) {
  const auto furthest = [](std::uint32_t outstanding) {
    Prefetcher prefetcher(streamer);
    const Line last = page - 25;
    const std::vector<Line> wanted =
        proposed(prefetcher, 0, last, {.outstanding = outstanding, .registers = 32});
    return wanted.empty() ? 0 : *std::max_element(wanted.begin(), wanted.end()) - last;
  };
  EXPECT_EQ(furthest(0), 20u);
  EXPECT_EQ(furthest(16), 20u);
  EXPECT_EQ(furthest(24), 10u);
  EXPECT_EQ(furthest(28), 5u);
  EXPECT_EQ(furthest(32), 0u);
  EXPECT_EQ(furthest(40), 0u);  // more than a lowered limit allows
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

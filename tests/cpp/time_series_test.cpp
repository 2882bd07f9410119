#include "base/time_series.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "frontend/activity.h"
#include "frontend/line_writes.h"

namespace nearfar::frontend {
namespace test_file {

using namespace literals;

template <std::size_t kinds>
std::uint64_t sum_of(const TimeSeries<kinds>& series, std::size_t kind) {
  std::uint64_t sum = 0;
  for (const auto& bucket : series.buckets()) sum += bucket[kind];
  return sum;
}

TEST(TimeSeries, ATimeSeriesLosesNothingHoweverLongTimeGetsAndStaysSmall) {
  TimeSeries<2> series(5_us);
  Rng rng(1);
  std::uint64_t added = 0;
  std::uint64_t spread = 0;
  Tick at = 3_us;  // before time begins: in the first bucket
  for (int i = 0; i < 2000; ++i) {
    const Tick next = at + Tick(rng.below(30'000'000));
    const std::uint64_t count = rng.below(1000);
    series.add(0, at, count);
    series.spread(1, at, next, count);
    added += count;
    spread += count;
    at = next;
    ASSERT_LE(series.buckets().size(), 256u);
  }
  EXPECT_EQ(sum_of(series, 0), added);
  EXPECT_EQ(sum_of(series, 1), spread);
  EXPECT_GE(series.width() * 256, at - 5_us);
  EXPECT_LT(series.width() * 64, at - 5_us);
}

TEST(TimeSeries, ATimeSeriesGivesEveryBucketItsShare) {
  TimeSeries<1> series;
  series.spread(0, Tick(500'000), Tick(4'500'000), 400);
  ASSERT_EQ(series.buckets().size(), 5u);
  const std::uint64_t expected[] = {50, 100, 100, 100, 50};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(series.buckets()[i][0], expected[i]);
}

TEST(TimeSeries, ATimeSeriesWidensByAddingNeighbours) {
  TimeSeries<1> series;
  for (std::uint64_t i = 0; i < 5; ++i) series.add(0, Tick(i * 1'000'000), i + 1);
  series.widen(2_us);
  ASSERT_EQ(series.buckets().size(), 3u);
  EXPECT_EQ(series.buckets()[0][0], 3u);
  EXPECT_EQ(series.buckets()[1][0], 7u);
  EXPECT_EQ(series.buckets()[2][0], 5u);
}

TEST(Activity, ActivitySinceTheLastLookGoesIntoThatTimeAndNoneIntoAWait) {
  Activity activity;
  activity.restart(Tick{});
  activity.add(Tick{});
  sim::cpu::CoreCounts counts;
  counts.instructions = 1000;
  counts.stack[0] = sim::cpu::fine(2_us);
  activity.look(0, 2_us, counts);
  activity.idle(0, 5_us);
  counts.instructions = 1600;
  counts.stack[0] += sim::cpu::fine(1_us);
  activity.look(0, 6_us, counts);
  const std::uint64_t expected[] = {500, 500, 0, 0, 0, 600};
  ASSERT_EQ(activity.all().buckets().size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(activity.all().buckets()[i][0], expected[i]);
    EXPECT_EQ(activity.all().buckets()[i][1], expected[i] == 0 ? 0u : 1'000'000u);
    EXPECT_EQ(activity.instructions(0).buckets()[i][0], expected[i]);
  }
}

TEST(LineWrites, WritesAreCountedForEveryBlockOf256BytesByItself) {
  LineWrites writes;
  const Address far(Bytes{7} << 30);
  for (int i = 0; i < 3; ++i) writes.add(far + 192);
  for (int i = 0; i < 300; ++i) writes.add(far + 512);
  writes.add(far + 256);
  writes.add(Address(0));
  const std::map<std::uint64_t, std::uint64_t> expected = {{1, 2}, {3, 1}, {300, 1}};
  EXPECT_EQ(writes.block_counts(), expected);
  writes.forget();
  EXPECT_TRUE(writes.block_counts().empty());
}

TEST(LineWrites, TheMostWrittenLinesComeFirstAndOfEqualsTheLowerAddress) {
  LineWrites writes;
  const Address far(Bytes{7} << 30);
  for (int i = 0; i < 300; ++i) writes.add(far + 512);
  for (int i = 0; i < 3; ++i) writes.add(far + 576);
  for (int i = 0; i < 3; ++i) writes.add(Address(128));
  writes.add(Address(0));
  const LineWrites::Hottest hottest = writes.hottest(3);
  EXPECT_EQ(hottest.count, 4u);
  EXPECT_EQ(hottest.writes, 307u);
  ASSERT_EQ(hottest.lines.size(), 3u);
  EXPECT_EQ(hottest.lines[0].physical, far + 512);
  EXPECT_EQ(hottest.lines[0].writes, 300u);
  EXPECT_EQ(hottest.lines[1].physical, Address(128));
  EXPECT_EQ(hottest.lines[2].physical, far + 576);
  EXPECT_EQ(writes.hottest(10).lines.size(), 4u);
}

}  // namespace test_file
}  // namespace nearfar::frontend

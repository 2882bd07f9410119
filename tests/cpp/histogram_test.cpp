#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace nearfar {
namespace test_file {

/// The definition that Histogram::quantile approximates.
std::uint64_t nearest_rank(std::vector<std::uint64_t> values, std::uint64_t numerator,
                           std::uint64_t denominator) {
  std::sort(values.begin(), values.end());
  const std::uint64_t rank = (values.size() * numerator + denominator - 1) / denominator;
  return values[rank - 1];
}

TEST(Histogram, AHistogramIsExactBelow256) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 256; ++value) histogram.add(value);
  for (std::uint64_t rank = 1; rank <= 256; ++rank) {
    EXPECT_EQ(histogram.quantile(rank, 256), rank - 1);
  }
}

TEST(Histogram, AHistogramTellsEveryRangeThatHoldsValues) {
  Histogram histogram;
  for (const std::uint64_t value : {0, 15, 16, 1000, 1023, 1024}) histogram.add(value);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  histogram.each(
      3, [&](std::uint64_t highest, std::uint64_t count) { seen.emplace_back(highest, count); });
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected = {
      {15, 2}, {31, 1}, {1023, 2}, {1151, 1}};
  EXPECT_EQ(seen, expected);
}

TEST(Histogram, AHistogramNeverUnderstatesAndOverstatesByLessThanOnePart128) {
  Rng rng(1);
  for (int magnitude = 0; magnitude < 64; ++magnitude) {
    Histogram histogram;
    std::vector<std::uint64_t> values;
    for (int i = 0; i < 500; ++i) {
      values.push_back(rng.next() >> magnitude);
      histogram.add(values.back());
    }
    for (const std::uint64_t per_mille : {1, 10, 250, 500, 900, 990, 999, 1000}) {
      const std::uint64_t exact = nearest_rank(values, per_mille, 1000);
      const std::uint64_t told = histogram.quantile(per_mille, 1000);
      EXPECT_GE(told, exact);
      EXPECT_LE(told - exact, exact / 128) << exact << " at " << per_mille << " per mille";
    }
  }
}

TEST(Histogram, AHistogramKeepsTheLargestAndTheSumExactly) {
  Histogram histogram;
  for (const std::uint64_t value : {1'000'003u, 7u, 2'000'001u}) histogram.add(value);
  EXPECT_EQ(histogram.max(), 2'000'001u);
  EXPECT_EQ(histogram.sum(), 3'000'011u);
  EXPECT_EQ(histogram.count(), 3u);
  EXPECT_EQ(histogram.quantile(1, 1), 2'000'001u);
}

TEST(Histogram, AHistogramHoldsTheWholeRangeOf64Bits) {
  constexpr std::uint64_t largest = ~std::uint64_t{0};
  Histogram histogram;
  histogram.add(0);
  histogram.add(largest);
  EXPECT_EQ(histogram.quantile(1, 2), 0u);
  EXPECT_EQ(histogram.quantile(1, 1), largest);
}

TEST(Histogram, AHistogramSaysZeroWhenEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.quantile(1, 2), 0u);
  EXPECT_EQ(histogram.max(), 0u);
}

TEST(Histogram, MergedHistogramsEqualOneThatGotAllValues) {
  Rng rng(2);
  Histogram left, right, all;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = rng.below(1'000'000);
    (i % 3 == 0 ? left : right).add(value);
    all.add(value);
  }
  left.merge(right);
  EXPECT_EQ(left.count(), all.count());
  EXPECT_EQ(left.sum(), all.sum());
  EXPECT_EQ(left.max(), all.max());
  for (std::uint64_t percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(left.quantile(percent, 100), all.quantile(percent, 100));
  }
}

}  // namespace test_file
}  // namespace nearfar

#include "sim/machine/traffic.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace test_file {

using nearfar::Tick;
using nearfar::sim::Op;
using nearfar::sim::Traffic;

std::uint64_t sum(const Traffic::Series& series, Op op) {
  std::uint64_t lines = 0;
  for (const auto& bucket : series.buckets()) lines += bucket[static_cast<std::size_t>(op)];
  return lines;
}

TEST(Traffic, CountsEveryLineOnceHoweverLongTheTime) {
  Traffic traffic;
  traffic.restart(Tick(500));
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t at = 500;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    at += i * 7919 % 50'000;
    const Op op = i % 3 == 0 ? Op::write : Op::read;
    (op == Op::read ? reads : writes) += 1;
    traffic.add(op, Tick(at));
  }
  const Traffic::Series series = traffic.series();
  EXPECT_EQ(sum(series, Op::read), reads);
  EXPECT_EQ(sum(series, Op::write), writes);
  EXPECT_LE(series.buckets().size(), 256U);
  EXPECT_GE(series.width() * series.buckets().size(), Tick(at - 500));
}

TEST(Traffic, PutsALineIntoTheBucketOfItsTime) {
  Traffic traffic;
  traffic.restart(Tick(0));
  const Tick width = traffic.series().width();
  traffic.add(Op::read, width - Tick(1));
  traffic.add(Op::read, width);
  traffic.add(Op::write, width * 3);
  const Traffic::Series series = traffic.series();
  ASSERT_EQ(series.buckets().size(), 4U);
  EXPECT_EQ(series.buckets()[0][0], 1U);
  EXPECT_EQ(series.buckets()[1][0], 1U);
  EXPECT_EQ(series.buckets()[3][1], 1U);
}

TEST(Traffic, TellsWhatItHasWithoutEndingItsBucket) {
  Traffic traffic;
  traffic.restart(Tick(0));
  traffic.add(Op::read, Tick(1));
  EXPECT_EQ(sum(traffic.series(), Op::read), 1U);
  traffic.add(Op::read, Tick(2));
  EXPECT_EQ(sum(traffic.series(), Op::read), 2U);
}

}  // namespace test_file

#include "sim/machine/loaded.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "machine_fixture.h"
#include "sim/cpu/loaded.h"

/// Bandwidth-latency curves: what generators do, how the reader paces them, and what a machine
/// makes of both.
namespace nearfar::sim::testing {
namespace test_file {

using cpu::GeneratorShape;
using cpu::LoadGenerator;
using cpu::Pace;
using cpu::PacingReader;
using cpu::Step;

constexpr Bytes area = Bytes{1} << 16;

GeneratorShape shape_of(std::uint32_t stores, std::uint32_t accesses) {
  GeneratorShape shape;
  shape.pace = std::make_shared<Pace>();
  shape.base = Address(area);
  shape.area = area;
  shape.stores = stores;
  shape.accesses = accesses;
  return shape;
}

std::vector<Step> steps_of(LoadGenerator& generator, std::size_t count) {
  std::vector<Step> steps(count);
  for (Step& step : steps) EXPECT_TRUE(generator.next(step));
  return steps;
}

TEST(LoadGenerator, StoresAreSpreadEvenlyAmongItsAccesses) {
  LoadGenerator generator(shape_of(1, 4));
  const std::vector<Step> steps = steps_of(generator, 400);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].kind, i % 4 == 3 ? Step::Kind::store : Step::Kind::load) << i;
  }
}

TEST(LoadGenerator, LoadsAndStoresHaveLinesOfTheirOwnInTheThreadsArea) {
  LoadGenerator generator(shape_of(1, 2));
  std::map<std::uint64_t, Step::Kind> kinds;
  for (const Step& step : steps_of(generator, 4 * area / line_bytes)) {
    const std::uint64_t line = step.address.value();
    EXPECT_GE(line, area);
    EXPECT_LT(line, 2 * area);
    EXPECT_EQ(kinds.try_emplace(line, step.kind).first->second, step.kind);
  }
  EXPECT_EQ(kinds.size(), area / line_bytes) << "in the end every line was accessed";
}

TEST(LoadGenerator, ItPausesAfterEachAccessForAsLongAsThePaceSays) {
  const GeneratorShape shape = shape_of(0, 1);
  shape.pace->pause = Tick(5000);
  LoadGenerator generator(shape);
  const std::vector<Step> steps = steps_of(generator, 10);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].kind, i % 2 == 0 ? Step::Kind::load : Step::Kind::delay);
    EXPECT_EQ(steps[i].span, i % 2 == 0 ? Tick() : Tick(5000));
  }
  EXPECT_EQ(shape.pace->accesses, 5U);
}

TEST(LoadGenerator, ItEndsWhenThePaceHasEnded) {
  const GeneratorShape shape = shape_of(0, 1);
  LoadGenerator generator(shape);
  steps_of(generator, 3);
  shape.pace->ended = true;
  Step step;
  EXPECT_FALSE(generator.next(step));
}

TEST(PacingReader, ItsPausesOfferEvenPartsOfWhatWasMadeWithoutOne) {
  const auto pace = std::make_shared<Pace>();
  const auto order = std::make_shared<cpu::CyclicOrder>(64, 1);
  int edges = 0;
  PacingReader reader({.generators = 2, .parts = 4, .settling = 1, .reads = 10}, pace, order, 4,
                      [&] { ++edges; });
  std::vector<Tick> pauses;
  Step step;
  Tick now;
  while (reader.next(step)) {
    if (pauses.size() < reader.readings().size()) pauses.push_back(pace->pause);
    reader.began(0, now);
    now = now + Tick(100'000);
    pace->accesses += 20;
    reader.done(0, now);
  }
  // Two generators made 20 accesses in 100 ns: 10 ns from one of a thread's to its next.
  const std::vector<Tick> expected = {Tick(), Tick(10'000), Tick(13'333), Tick(20'000),
                                      Tick(40'000)};
  ASSERT_EQ(reader.readings().size(), expected.size() + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(pauses[i], expected[i]) << i;
  EXPECT_TRUE(pace->ended) << "the last reading has no generator beside it";
  EXPECT_EQ(edges, 12) << "each reading begins and ends once";
}

LoadedPattern pattern_of(std::uint32_t stores) {
  LoadedPattern pattern;
  pattern.op = "ntstore";
  pattern.stores = stores;
  pattern.accesses = 2;
  pattern.threads = 3;
  pattern.area = Bytes{1} << 22;
  pattern.reads = 300;
  pattern.parts = 3;
  return pattern;
}

/// Lines of the memory that passed in a nanosecond.
double rate_of(const LoadedPoint& point) {
  double lines = 0;
  for (const Counters::Reading& one : point.counters) {
    const bool read = one.name.ends_with(".read_lines");
    if (read || one.name.ends_with(".write_lines")) lines += static_cast<double>(one.value);
  }
  return lines * 1000 / static_cast<double>(point.elapsed.ps());
}

double latency_of(const LoadedPoint& point) {
  return static_cast<double>(point.latency.quantile(1, 2));
}

TEST(Loaded, ACurveGoesFromSaturationToAnIdleMemory) {
  const std::vector<LoadedPoint> points = measure(quiet_optane(), pattern_of(0));
  ASSERT_EQ(points.size(), 5U);
  const LoadedPoint& idle = points.back();
  EXPECT_GT(rate_of(points.front()), 2 * rate_of(idle));
  EXPECT_GT(latency_of(points.front()), latency_of(idle));
  for (std::size_t i = 2; i < points.size(); ++i) {
    EXPECT_GE(1.02 * rate_of(points[i - 1]), rate_of(points[i])) << i;
  }
}

TEST(Loaded, OneModelAndOnePatternGiveOneCurve) {
  const std::vector<LoadedPoint> once = measure(quiet_optane(), pattern_of(1));
  const std::vector<LoadedPoint> again = measure(quiet_optane(), pattern_of(1));
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].elapsed, again[i].elapsed);
    EXPECT_EQ(latency_of(once[i]), latency_of(again[i]));
    EXPECT_EQ(rate_of(once[i]), rate_of(again[i]));
  }
}

TEST(Loaded, APatternThatMeasuresNothingIsRefused) {
  for (std::uint32_t LoadedPattern::* field :
       {&LoadedPattern::threads, &LoadedPattern::parts, &LoadedPattern::accesses}) {
    LoadedPattern pattern = pattern_of(0);
    pattern.*field = 0;
    EXPECT_THROW(measure(quiet_optane(), pattern), InputError);
  }
}

TEST(Loaded, AreasThatTheMemoryDoesNotHoldAreRefused) {
  LoadedPattern pattern = pattern_of(0);
  pattern.area = Bytes{1} << 50;
  EXPECT_THROW(measure(quiet_optane(), pattern), InputError);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

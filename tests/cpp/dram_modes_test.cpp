#include <gtest/gtest.h>

#include "dram_fixture.h"
#include "effort.h"

namespace nearfar::sim::dram::testing {
namespace test_file {

std::vector<Arrival> stream_for(const Config& config, std::uint64_t seed) {
  Rng rng(seed * 77 + 5);
  StreamShape shape;
  shape.count = 1000;
  shape.writes_percent = static_cast<std::uint32_t>(rng.below(101));
  shape.hot_percent = static_cast<std::uint32_t>(rng.below(101));
  shape.mean_gap_ps = 500 + rng.below(30'000);
  shape.pause_percent = static_cast<std::uint32_t>(rng.below(3));
  shape.ports = static_cast<std::uint16_t>(1 + rng.below(6));
  return random_stream(config, shape, seed);
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(difference(a.commands, b.commands), "");
  EXPECT_EQ(difference(a.completions, b.completions), "");
  EXPECT_EQ(a.accepted, b.accepted);
  ASSERT_EQ(a.counters.size(), b.counters.size());
  for (std::size_t i = 0; i < a.counters.size(); ++i) {
    EXPECT_EQ(a.counters[i].value, b.counters[i].value) << a.counters[i].name;
  }
}

class RandomDram : public ::testing::TestWithParam<std::tuple<Standard, std::uint64_t>> {
 protected:
  static Config config(std::uint64_t seed) { return random_config(seed, std::get<0>(GetParam())); }
  static std::uint64_t first(std::uint64_t each) { return std::get<1>(GetParam()) * each; }
};

TEST_P(RandomDram, JumpingFromEventToEventEqualsEvaluatingEveryCycle) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t seed = first(10) + i;
    SCOPED_TRACE("machine and stream " + std::to_string(seed));
    const Config config = RandomDram::config(seed);
    const auto arrivals = stream_for(config, seed);
    expect_same(drive(config, Mode::next_event, arrivals),
                drive(config, Mode::every_cycle, arrivals));
    if (HasFailure()) return;
  }
}

TEST_P(RandomDram, RanksThatWantSomethingInTheSameCycleTakeTurns) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t seed = first(4) + i;
    SCOPED_TRACE("machine and stream " + std::to_string(seed));
    Config config = RandomDram::config(seed);
    config.ranks = std::min(4u, 64 / config.banks_in_rank());
    config.refresh = true;
    config.timing.refi = 1400;
    // The rank whose turn comes a cycle later may want something else by then.
    config.powerdown_idle = 20 + seed % 3;
    config.selfrefresh_idle = 22 + seed % 5;
    StreamShape shape;
    shape.count = 300;
    shape.mean_gap_ps = 300;
    shape.pause_percent = 5;
    const auto arrivals = random_stream(config, shape, seed);
    expect_same(drive(config, Mode::next_event, arrivals),
                drive(config, Mode::every_cycle, arrivals));
    if (HasFailure()) return;
  }
}

TEST_P(RandomDram, AdvancingToTheNextCompletionEqualsAdvancingToEachEvent) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t seed = first(5) + i;
    SCOPED_TRACE("machine and stream " + std::to_string(seed));
    const Config config = RandomDram::config(seed);
    const auto arrivals = stream_for(config, seed);
    Channel by_event(config, 0), by_completion(config, 0);
    Sink a, b;
    Tick now_b;
    for (const Arrival& arrival : arrivals) {
      while (by_event.next_event() <= arrival.time) by_event.advance(by_event.next_event(), a);
      while (now_b < arrival.time) now_b = by_completion.advance_to_completion(arrival.time, b);
      EXPECT_EQ(by_event.try_send(arrival.request, arrival.time).accepted,
                by_completion.try_send(arrival.request, arrival.time).accepted);
    }
    while (!by_completion.idle()) now_b = by_completion.advance_to_completion(Tick::never(), b);
    const Tick end = now_b + Tick(10'000'000);
    while (now_b < end) now_b = by_completion.advance_to_completion(end, b);
    EXPECT_EQ(now_b, end);
    by_event.advance(end, a);
    EXPECT_EQ(difference(a, b), "");
    if (HasFailure()) return;
  }
}

TEST_P(RandomDram, HowAdvanceIsSplitChangesNothing) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t seed = first(5) + i;
    SCOPED_TRACE("machine and stream " + std::to_string(seed));
    const Config config = RandomDram::config(seed);
    const auto arrivals = stream_for(config, seed);
    const Outcome whole = drive(config, Mode::next_event, arrivals);
    expect_same(whole, drive(config, Mode::next_event, arrivals, Tick(0), seed));
    expect_same(whole, drive(config, Mode::next_event, arrivals, Tick(0), seed + 1));
  }
}

TEST_P(RandomDram, TheSameStreamLaterGivesTheSameLater) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t seed = first(5) + i;
    SCOPED_TRACE("machine and stream " + std::to_string(seed));
    Config config = RandomDram::config(seed);
    // An idle rank repeats itself with the refresh interval once its idle times have passed.
    config.refresh = true;
    config.timing.refi = 3000;
    config.powerdown_idle = std::min<Cycle>(config.powerdown_idle, 20);
    config.selfrefresh_idle = 0;
    const Tick interval = config.clock * config.timing.refi;
    auto early = stream_for(config, seed);
    for (Arrival& arrival : early) arrival.time += interval * 2;
    auto late = early;
    for (Arrival& arrival : late) arrival.time += interval * 5;
    Outcome a = drive(config, Mode::next_event, early);
    Outcome b = drive(config, Mode::next_event, late);
    for (Completion& completion : a.completions) completion.time += interval * 5;
    EXPECT_EQ(difference(a.completions, b.completions), "");
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Standards, RandomDram,
    ::testing::Combine(::testing::Values(Standard::ddr4, Standard::ddr5),
                       ::testing::Range<std::uint64_t>(0, sim::testing::cases(24))),
    [](const auto& info) {
      return title(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
    });

}  // namespace test_file
}  // namespace nearfar::sim::dram::testing

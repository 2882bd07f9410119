#include <gtest/gtest.h>

#include "dram_fixture.h"
#include "sim/dram/mapping.h"

/// Refresh, power-down, self-refresh, and time in which nothing happens.
namespace nearfar::sim::dram::testing {
namespace test_file {

Arrival read_at(Tick time, std::uint64_t line = 0) {
  Arrival arrival;
  arrival.time = time;
  arrival.request.address = Address(line * line_bytes);
  return arrival;
}

std::vector<Tick> times_of(const Outcome& outcome, Command command, std::uint8_t rank = 0) {
  std::vector<Tick> times;
  for (const CommandRecord& record : outcome.commands) {
    if (record.command == command && record.rank == rank) times.push_back(record.time);
  }
  return times;
}

TEST(DramRefresh, ARefreshComesEveryRefreshIntervalOfAnIdleChannel) {
  const Config config = ddr4_2666();
  const Tick interval = config.clock * config.timing.refi;
  const auto times = times_of(drive(config, Mode::next_event, {}, interval * 100), Command::ref);
  ASSERT_EQ(times.size(), 100u);
  EXPECT_LE(times[0], interval);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], interval);
}

Config same_bank_refresh() {
  Config config = ddr5_4800();
  config.fine_refresh = config.same_bank_refresh = true;
  config.timing.refi = 4687;
  config.timing.rfc = 384;
  return config;
}

TEST(DramRefresh, ARefreshOfTheSameBankTakesTheNumbersInTurnOnceEachInterval) {
  const Config config = same_bank_refresh();
  const Tick interval = config.clock * config.timing.refi;
  const auto commands = drive(config, Mode::next_event, {}, interval * 100).commands;
  ASSERT_EQ(commands.size(), 400u);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    EXPECT_EQ(commands[i].command, Command::refsb);
    EXPECT_EQ(commands[i].bank, i % 4);
    if (i < 4) continue;
    EXPECT_EQ(commands[i].time - commands[i - 4].time, interval);
  }
}

TEST(DramRefresh, ARefreshOfTheSameBankStopsReadsOfItsBanksAlone) {
  Config config = same_bank_refresh();
  const Timing& t = config.timing;
  const AddressMapping mapping(config, "mapping");
  // Hits of one row in each bank of number 0.
  std::vector<Arrival> reads(100'000);
  for (std::uint32_t i = 0; i < reads.size(); ++i) {
    const auto bank = static_cast<std::uint16_t>(i % 8 * config.banks);
    reads[i].request.id = i;
    reads[i].request.address = mapping.address({7, bank, 0}, i / 8 % 64 * 16);
  }
  const Outcome with = drive(config, Mode::next_event, reads);
  config.refresh = false;
  const Outcome without = drive(config, Mode::next_event, reads);
  double stops = 0;
  for (const CommandRecord& c : with.commands) {
    if (c.command == Command::refsb && c.bank == 0) stops += 1;
  }
  EXPECT_NEAR(stops * 4, static_cast<double>(counter(with, "refreshes")), 4.0);
  // tRTP, eight precharges, tRP, tRFCsb, tRCD, instead of tCCD_S; the other numbers' refreshes
  // cost a slot of the command bus, which the reads leave free.
  const double each = t.rtp + 7 * t.ppd + t.rp + t.rfc_sb + t.rcd - t.ccd_s;
  const Tick lost = with.completions.back().time - without.completions.back().time;
  EXPECT_NEAR(static_cast<double>(lost / config.clock) / stops, each, 0.03 * each);
}

TEST(DramRefresh, ARefreshOfTheSameBankLosesLessThanOfAllBanksToRandomReads) {
  Config config = same_bank_refresh();
  StreamShape shape;
  shape.count = 40'000;
  shape.writes_percent = shape.hot_percent = shape.pause_percent = 0;
  shape.mean_gap_ps = 100;
  const auto reads = random_stream(config, shape, 9);
  const Tick same = drive(config, Mode::next_event, reads).completions.back().time;
  config.same_bank_refresh = false;
  const Tick all = drive(config, Mode::next_event, reads).completions.back().time;
  EXPECT_LT(same, all);
}

class Postponement : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Postponement, PostponedRefreshesNeverExceedTheirBoundAndAreMadeUpFor) {
  Config config = ddr4_2666();
  config.ranks = 2;
  config.refresh_postpone = GetParam();
  const Tick interval = config.clock * config.timing.refi;
  // Twenty intervals without a pause, then twenty of nothing.
  StreamShape shape;
  shape.count = 25'000;
  shape.mean_gap_ps = 20 * interval.ps() / shape.count;
  shape.pause_percent = 0;
  const Outcome outcome =
      drive(config, Mode::next_event, random_stream(config, shape, 1), interval * 40);
  for (const std::uint8_t rank : std::initializer_list<std::uint8_t>{0, 1}) {
    const auto times = times_of(outcome, Command::ref, rank);
    EXPECT_NEAR(static_cast<double>(times.size()), 40.0, 1.0);
    Tick longest = times[0];
    for (std::size_t i = 1; i < times.size(); ++i) {
      longest = max(longest, times[i] - times[i - 1]);
      // By its own deadline each refresh has been issued.
      EXPECT_LE(times[i], interval * (i + 1 + GetParam()));
    }
    EXPECT_LE(longest, interval * (1 + GetParam()) + config.clock * 100);
    if (GetParam() == 8) {
      EXPECT_GT(longest, interval * 4) << "nothing was postponed";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Refreshes, Postponement, ::testing::Values(0, 1, 4, 8));

TEST(DramPower, ARankWithoutRequestsIsPoweredDownAfterItsIdleTime) {
  Config config = without_refresh();
  config.powerdown_idle = 100;
  const Outcome outcome =
      drive(config, Mode::next_event, {read_at(Tick(0)), read_at(config.clock * 500)},
            config.clock * 900);
  const Timing& t = config.timing;
  const Tick read = times_of(outcome, Command::rd)[0];
  EXPECT_EQ(times_of(outcome, Command::pde)[0], read + config.clock * config.powerdown_idle);
  EXPECT_EQ(times_of(outcome, Command::pdx)[0], config.clock * 501);
  EXPECT_EQ(outcome.completions.back().time - config.clock * 500,
            config.clock * (1 + t.xp + t.cl + t.burst));
  EXPECT_EQ(counter(outcome, "powerdowns"), 2u);
  EXPECT_EQ(counter(outcome, "powerdown_ps"),
            (times_of(outcome, Command::pdx)[0] - times_of(outcome, Command::pde)[0]).ps());
}

TEST(DramPower, ARankLeavesPowerDownForEachRefresh) {
  Config config = ddr4_2666();
  config.powerdown_idle = 100;
  const Tick interval = config.clock * config.timing.refi;
  const Outcome outcome = drive(config, Mode::next_event, {}, interval * 10);
  EXPECT_EQ(counter(outcome, "refreshes"), 10u);
  EXPECT_EQ(times_of(outcome, Command::pdx).size(), 10u);
  EXPECT_EQ(counter(outcome, "powerdowns"), 11u);
}

TEST(DramPower, SelfRefreshNeedsNoRefreshAndIsLeftForARequest) {
  Config config = ddr4_2666();
  config.powerdown_idle = 100;
  config.selfrefresh_idle = 5000;
  const Timing& t = config.timing;
  const Tick late = config.clock * t.refi * 50;
  const Outcome outcome = drive(config, Mode::next_event, {read_at(Tick(0)), read_at(late)}, late);
  ASSERT_EQ(times_of(outcome, Command::sre).size(), 1u);
  EXPECT_EQ(times_of(outcome, Command::ref).size(), 0u);
  EXPECT_EQ(times_of(outcome, Command::prea).size(), 1u);
  EXPECT_EQ(times_of(outcome, Command::srx)[0], late + config.clock);
  // The row was closed; the read waits for the DLL longer than for its activate.
  EXPECT_EQ(outcome.completions.back().time - late,
            config.clock * (1 + std::max(t.dllk, t.xs + t.rcd) + t.cl + t.burst));
}

TEST(DramPower, ARankIsRefreshedOnceBetweenTwoSelfRefreshes) {
  Config config = ddr4_2666();
  config.selfrefresh_idle = 1000;
  const Tick interval = config.clock * config.timing.refi;
  std::vector<Arrival> arrivals;
  for (std::uint64_t i = 1; i <= 20; ++i) arrivals.push_back(read_at(Tick(interval.ps() * i / 2)));
  const Outcome outcome = drive(config, Mode::next_event, arrivals, interval * 12);
  const auto entries = times_of(outcome, Command::sre);
  const auto refreshes = times_of(outcome, Command::ref);
  ASSERT_GT(entries.size(), 3u);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    EXPECT_TRUE(std::any_of(refreshes.begin(), refreshes.end(), [&](Tick refresh) {
      return refresh > entries[i - 1] && refresh < entries[i];
    }));
  }
}

// ---- Idle time.

struct IdlePolicy {
  std::uint32_t ranks;
  Cycle powerdown, selfrefresh;
  std::uint32_t postpone;
};

class IdleTime : public ::testing::TestWithParam<IdlePolicy> {};

TEST_P(IdleTime, IdleTimeIsSkippedWithTheResultOfLivingThroughIt) {
  Config config = ddr4_2666();
  config.ranks = GetParam().ranks;
  config.powerdown_idle = GetParam().powerdown;
  config.selfrefresh_idle = GetParam().selfrefresh;
  config.refresh_postpone = GetParam().postpone;
  StreamShape shape;
  shape.count = 300;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto arrivals = random_stream(config, shape, seed);
    // Pauses of up to some hundred refresh intervals.
    Rng rng(seed);
    Tick pause;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      if (i % 100 == 50) pause += Tick(rng.below(2'000'000'000));
      arrivals[i].time += pause;
      arrivals[i].request.port = 0;
    }
    // Without a log the channel may skip; with one it lives through every refresh.
    Recorder recorder;
    Channel skipping(config, 0), living(config, 0, &recorder);
    Sink skipped, lived;
    for (const Arrival& arrival : arrivals) {
      static_cast<void>(skipping.try_send(arrival.request, arrival.time));
      static_cast<void>(living.try_send(arrival.request, arrival.time));
    }
    const Tick end = arrivals.back().time + Tick(1'000'000'000);
    skipping.advance(end, skipped);
    living.advance(end, lived);
    EXPECT_EQ(difference(skipped, lived), "");
    const auto a = counters_of(skipping), b = counters_of(living);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].value, b[i].value) << a[i].name;
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, IdleTime,
                         ::testing::Values(IdlePolicy{1, 0, 0, 0}, IdlePolicy{1, 0, 0, 8},
                                           IdlePolicy{2, 50, 0, 0}, IdlePolicy{4, 50, 0, 4},
                                           IdlePolicy{2, 50, 300'000, 2},
                                           IdlePolicy{2, 0, 400'000, 0},
                                           IdlePolicy{3, 100'000, 0, 1}));

TEST(DramIdle, ASecondOfIdleTimeTakesHardlyAnEvent) {
  Config config = ddr4_2666();
  Channel channel(config, 0);
  EXPECT_TRUE(channel.next_event().is_never());
  Sink sink;
  channel.advance(Tick(1'000'000'000'000), sink);
  EXPECT_TRUE(sink.empty());
  const auto counters = counters_of(channel);
  for (const auto& reading : counters) {
    if (reading.name == "refreshes") {
      EXPECT_NEAR(static_cast<double>(reading.value), 1e12 / (750.0 * 10400), 1.0);
    }
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::dram::testing

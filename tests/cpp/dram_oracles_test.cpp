#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "dram_fixture.h"
#include "sim/dram/mapping.h"

namespace nearfar::sim::dram::testing {
namespace test_file {

Arrival read_at(Tick time, Address address, std::uint64_t id = 0) {
  Arrival arrival;
  arrival.time = time;
  arrival.request.id = id;
  arrival.request.address = address;
  return arrival;
}

/// Latency in cycles of the last of `reads`, from its arrival on a clock edge.
Cycle latency_of_last(const Config& config, const std::vector<Arrival>& reads) {
  const Outcome outcome = drive(config, Mode::next_event, reads);
  return (outcome.completions.back().time - reads.back().time) / config.clock;
}

struct SpeedBin {
  Standard standard;
  std::uint64_t clock_ps;
  std::uint32_t cl, cwl, rcd, rp, ras;
};

class IdleLatency : public ::testing::TestWithParam<SpeedBin> {
 protected:
  static Config config() {
    Config config = without_refresh(GetParam().standard);
    config.clock = Tick(GetParam().clock_ps);
    Timing& t = config.timing;
    t.cl = GetParam().cl;
    t.cwl = GetParam().cwl;
    t.rcd = GetParam().rcd;
    t.rp = GetParam().rp;
    t.ras = GetParam().ras;
    t.rc = t.ras + t.rp;
    return config;
  }
};

// One cycle from arrival to the first command, then what the device takes.

TEST_P(IdleLatency, TheIdleLatencyOfAMissIsActivateReadAndBurst) {
  const Timing t = config().timing;
  EXPECT_EQ(latency_of_last(config(), {read_at(Tick(0), Address(0))}), 1 + t.rcd + t.cl + t.burst);
}

TEST_P(IdleLatency, TheIdleLatencyOfAHitIsReadAndBurst) {
  const Timing t = config().timing;
  const Tick later = config().clock * 1000;
  EXPECT_EQ(latency_of_last(config(), {read_at(Tick(0), Address(0)), read_at(later, Address(0))}),
            1 + t.cl + t.burst);
}

TEST_P(IdleLatency, TheIdleLatencyOfAConflictIsPrechargeActivateReadAndBurst) {
  const Timing t = config().timing;
  const Tick later = config().clock * 1000;
  const Address other_row = AddressMapping(config(), "").address({7, 0, 0}, 0);
  EXPECT_EQ(latency_of_last(config(), {read_at(Tick(0), Address(0)), read_at(later, other_row)}),
            1 + t.rp + t.rcd + t.cl + t.burst);
}

INSTANTIATE_TEST_SUITE_P(Bins, IdleLatency,
                         ::testing::Values(SpeedBin{Standard::ddr4, 833, 17, 12, 17, 17, 39},
                                           SpeedBin{Standard::ddr4, 750, 19, 18, 19, 19, 43},
                                           SpeedBin{Standard::ddr4, 682, 21, 16, 21, 21, 47},
                                           SpeedBin{Standard::ddr4, 625, 22, 20, 22, 22, 52},
                                           SpeedBin{Standard::ddr5, 416, 34, 32, 34, 34, 77},
                                           SpeedBin{Standard::ddr5, 416, 40, 38, 39, 39, 77},
                                           SpeedBin{Standard::ddr5, 416, 42, 40, 42, 42, 77},
                                           SpeedBin{Standard::ddr5, 357, 40, 38, 40, 40, 90},
                                           SpeedBin{Standard::ddr5, 357, 46, 44, 45, 45, 90},
                                           SpeedBin{Standard::ddr5, 357, 50, 48, 50, 50, 90}));

/// Sends lines as fast as they are taken; the span from the first to the last completion.
Tick stream_span(const Config& config, std::uint64_t count, std::uint64_t stride, Op op,
                 Outcome* outcome = nullptr) {
  std::vector<Arrival> arrivals(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    arrivals[i] = read_at(Tick(0), Address(i * stride % config.capacity()), i);
    arrivals[i].request.op = op;
    arrivals[i].request.tell_media = op == Op::write;
  }
  Outcome result = drive(config, Mode::next_event, arrivals);
  Tick first = Tick::never(), last;
  for (const Completion& completion : result.completions) {
    const auto kind = op == Op::read ? Completion::Kind::done : Completion::Kind::media;
    if (completion.kind != kind) continue;
    first = min(first, completion.time);
    last = completion.time;
  }
  if (outcome != nullptr) *outcome = std::move(result);
  return last - first;
}

class DramBandwidth : public ::testing::TestWithParam<Standard> {};

INSTANTIATE_TEST_SUITE_P(Standards, DramBandwidth,
                         ::testing::Values(Standard::ddr4, Standard::ddr5),
                         [](const auto& info) { return title(info.param); });

TEST_P(DramBandwidth, SequentialReadsFillTheBusWithoutAGap) {
  const Config config = without_refresh(GetParam());
  EXPECT_EQ(stream_span(config, 20'000, line_bytes, Op::read),
            config.clock * config.timing.ccd_s * 19'999);
}

TEST_P(DramBandwidth, ReadsOfOneBankGroupGoAtTheLongColumnDistance) {
  const Config config = without_refresh(GetParam());
  const std::uint64_t count = config.columns / config.burst_length;  // one row
  EXPECT_EQ(stream_span(config, count, line_bytes * config.bank_groups, Op::read),
            config.clock * config.timing.ccd_l * (count - 1));
}

TEST_P(DramBandwidth, WritesOfOneBankGroupGoAtTheLongColumnDistanceOfWrites) {
  const Config config = without_refresh(GetParam());
  const std::uint64_t count = config.columns / config.burst_length;  // one row
  const std::uint32_t distance =
      GetParam() == Standard::ddr4 ? config.timing.ccd_l : config.timing.ccd_l_w;
  EXPECT_EQ(stream_span(config, count, line_bytes * config.bank_groups, Op::write),
            config.clock * distance * (count - 1));
}

TEST_P(DramBandwidth, SequentialWritesFillTheBusToWithinAPercent) {
  const Config config = without_refresh(GetParam());
  const double cycles =
      static_cast<double>(stream_span(config, 20'000, line_bytes, Op::write) / config.clock);
  EXPECT_NEAR(cycles / (config.timing.ccd_s * 19'999.0), 1.0, 0.01);
}

TEST_P(DramBandwidth, ARefreshCostsItsTimeAndTheReopeningOfRows) {
  Config config = example_of(GetParam());
  const Timing& t = config.timing;
  constexpr std::uint64_t count = 200'000;
  Outcome outcome;
  const Tick with = stream_span(config, count, line_bytes, Op::read, &outcome);
  config.refresh = false;
  const Tick without = stream_span(config, count, line_bytes, Op::read);
  const std::uint64_t refreshes = counter(outcome, "refreshes");
  EXPECT_NEAR(static_cast<double>(refreshes), static_cast<double>(with / config.clock) / t.refi,
              1.0);
  // From the last read before to the first after: tRTP, tRP, tRFC, tRCD, instead of tCCD_S.
  const double each = t.rtp + t.rp + t.rfc + t.rcd - t.ccd_s;
  const double lost = static_cast<double>((with - without) / config.clock);
  EXPECT_NEAR(lost / static_cast<double>(refreshes), each, 0.02 * each);
}

TEST_P(DramBandwidth, RandomRowsAreLimitedByTheFourActivateWindow) {
  Config config = without_refresh(GetParam());
  if (GetParam() == Standard::ddr5) {
    // Pages of 2 KiB: of smaller ones tRRD_S alone keeps four activates apart as far.
    config.bank_groups = 4;
    config.timing.faw = 40;
    config.timing.rcd = 35;  // a read's two cycles of the command bus do not delay an activate
  }
  const AddressMapping mapping(config, "mapping");
  std::vector<Arrival> arrivals(20'000);
  for (std::uint32_t i = 0; i < arrivals.size(); ++i) {
    // Bank groups in turn, then banks: no bank comes back before it is ready.
    const auto bank = static_cast<std::uint16_t>(i % 4 * 4 + i / 4 % 4);
    arrivals[i] = read_at(Tick(0), mapping.address({i / 16 % config.rows, bank, 0}, 0), i);
  }
  const Outcome outcome = drive(config, Mode::next_event, arrivals);
  EXPECT_EQ(counter(outcome, "activates"), arrivals.size());
  const double cycles = static_cast<double>(outcome.commands.back().time / config.clock);
  EXPECT_NEAR(cycles / static_cast<double>(arrivals.size()), config.timing.faw / 4.0, 0.01);
}

double gigabytes_per_second(std::uint64_t lines, Tick span) {
  return static_cast<double>(lines * line_bytes) / span.ns();
}

/// `outstanding` reads always in flight, the next sent when one is done.
double closed_loop(const Config& config, std::uint64_t count, std::size_t outstanding, bool random,
                   double* latency_ns = nullptr) {
  Channel channel(config, 0);
  Rng rng(7);
  Sink sink;
  Tick now;
  std::uint64_t sent = 0, done = 0;
  std::size_t in_flight = 0;
  bool full = false;
  while (done < count) {
    while (!full && in_flight < outstanding && sent < count) {
      const std::uint64_t lines = config.capacity() / line_bytes;
      Request request;
      request.id = sent;
      request.address = Address((random ? rng.below(lines) : sent % lines) * line_bytes);
      full = !channel.try_send(request, now).accepted;
      if (full) break;
      ++sent;
      ++in_flight;
    }
    now = channel.next_event();
    sink.clear();
    channel.advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) {
        full = false;
      } else {
        ++done;
        --in_flight;
      }
    }
  }
  if (latency_ns != nullptr) *latency_ns = now.ns() / static_cast<double>(count);
  return gigabytes_per_second(count, now);
}

// What Ramulator 2.1 and DRAMsim3 give for the same device and queue of 32 reads, with lines
// of a row in one bank and the next row in the next bank group.

TEST(DramAgreement, RandomReadsReachElevenAndAHalf) {
  Config config = ddr4_2666();
  config.read_queue = 32;
  EXPECT_NEAR(closed_loop(config, 100'000, 64, true), 11.5, 0.2);
}

TEST(DramAgreement, SequentialReadsReachFourteenPointFourWhenRowsLieInOneBank) {
  Config config = ddr4_2666();
  config.read_queue = 32;
  config.mapping = "row-rank-bank-bank_group-column";
  EXPECT_NEAR(closed_loop(config, 200'000, 64, false), 14.4, 0.15);
}

TEST(DramAgreement, SequentialReadsReachThePeakLessRefreshWhenBankGroupsInterleave) {
  const Config config = ddr4_2666();
  const double peak = 64.0 / (config.timing.ccd_s * config.clock.ns());
  EXPECT_NEAR(closed_loop(config, 200'000, 64, false) / peak, 1.0 - 515.0 / 10400.0, 0.01);
}

TEST(DramAgreement, ASubchannelOfDdr5ReadsAtItsPeakLessRefresh) {
  const Config config = ddr5_4800();
  const double peak = 64.0 / (config.timing.ccd_s * config.clock.ns());
  EXPECT_NEAR(peak, 19.2, 0.05);
  EXPECT_NEAR(closed_loop(config, 200'000, 64, false) / peak, 1.0 - (708.0 + 18 + 39 + 39) / 9375,
              0.01);
}

TEST(DramAgreement, ADependentChaseTakesFortySevenAndAHalfNanoseconds) {
  double latency = 0;
  closed_loop(ddr4_2666(), 50'000, 1, true, &latency);
  EXPECT_NEAR(latency, 47.75, 0.5);
}

TEST(DramQueues, LittlesLawHoldsForReads) {
  const Config config = ddr4_2666();
  StreamShape shape;
  shape.count = 5000;
  shape.writes_percent = 0;
  const auto arrivals = random_stream(config, shape, 3);
  const Outcome outcome = drive(config, Mode::next_event, arrivals);
  // A read leaves the queue when its burst is commanded: what is left is a constant.
  std::uint64_t residence = 0;
  const std::uint64_t after = config.clock.ps() * (config.timing.cl + config.timing.burst);
  for (const Completion& completion : outcome.completions) {
    if (completion.kind != Completion::Kind::done) continue;
    const std::size_t index = completion.id - arrivals.front().request.id;
    residence += (completion.time - outcome.accepted[index]).ps() - after;
  }
  EXPECT_EQ(counter(outcome, "read_queue_entry_ps"), residence);
}

TEST(DramQueues, LittlesLawHoldsForWrites) {
  const Config config = ddr4_2666();
  StreamShape shape;
  shape.count = 5000;
  shape.writes_percent = 100;
  shape.hot_percent = 0;
  auto arrivals = random_stream(config, shape, 4);
  for (Arrival& arrival : arrivals) arrival.request.tell_media = true;
  const Outcome outcome = drive(config, Mode::next_event, arrivals);
  ASSERT_EQ(counter(outcome, "coalesced_writes"), 0u);
  std::uint64_t residence = 0;
  const std::uint64_t after = config.clock.ps() * (config.timing.cwl + config.timing.burst);
  for (const Completion& completion : outcome.completions) {
    if (completion.kind != Completion::Kind::media) continue;
    const std::size_t index = completion.id - arrivals.front().request.id;
    residence += (completion.time - outcome.accepted[index]).ps() - after;
  }
  EXPECT_EQ(counter(outcome, "write_queue_entry_ps"), residence);
}

TEST(DramMapping, EveryOrderOfFieldsIsABijection) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Config config = random_config(seed, seed % 2 == 0 ? Standard::ddr4 : Standard::ddr5);
    config.rows = 4;
    config.columns = 64;
    const AddressMapping mapping(config, "mapping");
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Address> places;
    for (std::uint64_t line = 0; line < config.capacity() / line_bytes; ++line) {
      const Address address(line * line_bytes);
      const Location at = mapping.locate(address);
      const std::uint32_t column = mapping.column_of(address);
      EXPECT_LT(at.row, config.rows);
      EXPECT_LT(at.bank, config.total_banks());
      EXPECT_EQ(at.rank, at.bank / config.banks_in_rank());
      EXPECT_LT(column, config.columns);
      EXPECT_TRUE(places.emplace(std::tuple(at.row, at.bank, column), address).second);
      EXPECT_EQ(mapping.address(at, column), address);
      EXPECT_EQ(mapping.locate(address + 63), at);
    }
  }
}

TEST(DramMapping, AHashSpreadsAreasAnyPowerOfTwoApartOverTheBanks) {
  Config config = ddr4_2666();
  config.hash = true;
  const AddressMapping mapping(config, "mapping");
  const Bytes row_bytes = config.capacity() / config.rows;
  for (Bytes apart = row_bytes; apart < config.capacity(); apart *= 2) {
    EXPECT_NE(mapping.locate(Address(0)).bank, mapping.locate(Address(apart)).bank) << apart;
  }
  // The sixteen areas of an eighth of a GiB lie in sixteen banks, where all lay in one.
  std::set<std::uint16_t> banks;
  for (Bytes area = 0; area < 16; ++area) {
    banks.insert(mapping.locate(Address(area << 27)).bank);
  }
  EXPECT_EQ(banks.size(), 16u);
}

TEST(DramAgreement, AHashChangesNeitherSequentialNorRandomReads) {
  Config config = ddr4_2666();
  config.read_queue = 32;
  config.hash = true;
  EXPECT_NEAR(closed_loop(config, 100'000, 64, true), 11.5, 0.2);
  config.mapping = "row-rank-bank-bank_group-column";
  EXPECT_NEAR(closed_loop(config, 200'000, 64, false), 14.4, 0.15);
}

}  // namespace test_file
}  // namespace nearfar::sim::dram::testing

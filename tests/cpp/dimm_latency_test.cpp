#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "machine_bench.h"

/// Idle latencies and saturated rates of the whole machine against sums of the settings, written
/// down step by step as docs/machine.md describes the way of a read and of a write.
namespace nearfar::sim::testing {
namespace test_file {

constexpr Bytes page = 4096;
constexpr Bytes block = 256;
const Tick start(10'000'000);

/// The settings' constants, under the names of the keys.
struct Constants {
  explicit Constants(const Settings& settings)
      : request(settings.time("nvdimm.bus.request")),
        grant(settings.time("nvdimm.bus.grant")),
        line(settings.time("nvdimm.bus.line")),
        lsq(settings.time("nvdimm.lsq.latency")),
        hold(settings.time("nvdimm.lsq.hold")),
        rmw(settings.time("nvdimm.buffer.1.latency")),
        lane(settings.time("nvdimm.buffer.1.line")),
        ait(settings.time("nvdimm.buffer.2.latency")),
        ait_data(settings.time("nvdimm.buffer.2.data_latency")),
        table(settings.time("nvdimm.table.latency")),
        media_read(settings.time("nvdimm.media.read_latency")),
        media_write(settings.time("nvdimm.media.write_interval")),
        media_partition(settings.time("nvdimm.media.write_partition")),
        media_interval(settings.time("nvdimm.media.read_interval")),
        clock(settings.time("nvdimm.dram.clock_ps")),
        precharge(settings.count("nvdimm.dram.timing.rp")),
        row(settings.count("nvdimm.dram.timing.rcd")),
        column(settings.count("nvdimm.dram.timing.cl")),
        burst(settings.count("nvdimm.dram.burst_length") / 2) {}

  /// When data of a closed row, asked of the idle on-DIMM DRAM at `at`, are there: the first
  /// command goes out at the next clock edge.
  [[nodiscard]] Tick dram(Tick at) const { return (at / clock + 1 + row + column + burst) * clock; }
  /// From ready data at the DIMM to the end of the line on the bus.
  [[nodiscard]] Tick out() const { return grant + line; }

  Tick request, grant, line, lsq, hold, rmw, lane, ait, ait_data, table, media_read, media_write,
      media_partition, media_interval, clock;
  std::uint64_t precharge, row, column, burst;
};

/// A machine in which the addresses have been read, one after another, and nothing is left to do.
class Idle : public Bench {
 public:
  Idle(const Overrides& overrides, const std::vector<std::uint64_t>& warm)
      : Bench(overrides), constants(quiet_optane(overrides)) {
    for (const std::uint64_t address : warm) {
      if (!send(read_of(0, address))) throw std::logic_error("not idle");
      wait_for(0);
    }
    advance(start);
  }

  Tick read(std::uint64_t address) {
    EXPECT_TRUE(send(read_of(1, address)));
    return wait_for(1).time;
  }
  /// When the line is on the media.
  Tick store(std::uint64_t address, std::uint64_t lines = 1) {
    for (std::uint64_t i = 0; i < lines; ++i) {
      Request write = write_of(1 + i, address + i * line_bytes, 0);
      write.tell_media = true;
      EXPECT_TRUE(send(write));
    }
    while (stored().size() < lines) {
      if (step().empty()) throw std::logic_error("never on the media");
    }
    return now();
  }

  Constants constants;
};

TEST(IdleLatency, TheIdleLatencyOfAReadFromTheRmwBufferIsThatOfItsParts) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  EXPECT_EQ(bench.read(64), start + c.request + c.lsq + c.rmw + c.out());
}

TEST(IdleLatency, TheIdleLatencyOfAReadThatHitsTheAitBufferIsThatOfItsParts) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  EXPECT_EQ(bench.read(block), start + c.request + c.lsq + c.rmw + c.ait + c.media_read + c.out());
}

TEST(IdleLatency, TheIdleLatencyOfAReadThatMissesTheAitBufferIsThatOfItsParts) {
  // 1 ps later each time: the table read starts at an edge of the DRAM's clock.
  for (std::uint64_t late = 0; late < 2000; late += 125) {
    Idle bench({}, {});
    const Constants& c = bench.constants;
    bench.advance(start + Tick(late));
    const Tick asked = start + Tick(late) + c.request + c.lsq + c.rmw + c.ait + c.table;
    EXPECT_EQ(bench.read(0), c.dram(asked) + c.media_read + c.out());
  }
}

TEST(IdleLatency, TheIdleLatencyOfAReadWithDataInTheAitBufferIsThatOfItsParts) {
  // Block 1 of the page came into the on-DIMM DRAM and has left the RMW buffer since.
  Idle bench({{"nvdimm.buffer.2.fill", "sector"},
              {"nvdimm.buffer.1.entries", "1"},
              {"nvdimm.buffer.1.ways", "1"}},
             {block, page});
  const Constants& c = bench.constants;
  const Tick asked = start + c.request + c.lsq + c.rmw + c.ait + c.ait_data;
  EXPECT_EQ(bench.read(block), c.dram(asked) + c.precharge * c.clock + c.out())
      << "the last read of that bank was of the table, in another row";
}

TEST(IdleLatency, TheIdleLatencyOfAReadOfALineThatWaitsInTheLoadStoreQueueIsThatOfItsParts) {
  Idle bench({}, {});
  const Constants& c = bench.constants;
  ASSERT_TRUE(bench.send(write_of(9, 0, 1)));
  bench.advance(start + Tick(1'000'000));
  EXPECT_EQ(bench.read(0), start + Tick(1'000'000) + c.request + c.lsq + c.out());
}

TEST(IdleLatency, TheIdleLatencyOfAReadOfALineThatWaitsInTheWritePendingQueueIsThatOfItsParts) {
  Idle bench({}, {});
  ASSERT_TRUE(bench.send(write_of(9, 0, 1)));
  EXPECT_EQ(bench.read(0), start + bench.constants.line);
}

TEST(IdleLatency, TheIdleLatencyOfTheOtherLinesOfABlockIsALanesTimeEach) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  for (std::uint64_t line = 0; line < 4; ++line) {
    ASSERT_TRUE(bench.send(read_of(line, line * line_bytes)));
  }
  for (std::uint64_t line = 0; line < 4; ++line) {
    EXPECT_EQ(bench.wait_for(line).time,
              start + c.request + c.lsq + c.rmw + line * c.lane + c.out());
  }
}

/// When the first lines of four blocks have come that are asked for at once.
std::vector<Tick> four_blocks(Idle& bench, const std::vector<std::uint64_t>& addresses) {
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(bench.send(read_of(i, addresses[i])));
  std::vector<Tick> times;
  for (std::uint64_t i = 0; i < 4; ++i) times.push_back(bench.wait_for(i).time);
  return times;
}

TEST(IdleLatency, AFourthBlockOfAPageWaitsUntilTheFirstOfThreeCouldHaveLeft) {
  Idle bench({{"nvdimm.media.page_reads", "3"}}, {0});
  const Constants& c = bench.constants;
  const std::vector<Tick> times = four_blocks(bench, {block, 2 * block, 3 * block, 4 * block});
  EXPECT_EQ(times[1], times[0] + c.media_interval);
  EXPECT_EQ(times[2], times[1] + c.media_interval);
  EXPECT_EQ(times[3], times[0] + 3 * c.lane + c.media_read);
}

TEST(IdleLatency, AFourthBlockOfAnotherPageWaitsForTheMediaAlone) {
  Idle bench({{"nvdimm.media.page_reads", "3"}}, {0, page});
  const Constants& c = bench.constants;
  const std::vector<Tick> times =
      four_blocks(bench, {block, 2 * block, 3 * block, page + 8 * block});
  EXPECT_EQ(times[3], times[2] + c.media_interval);
}

TEST(IdleLatency, WithoutALimitAFourthBlockOfAPageWaitsForTheMediaAlone) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  const std::vector<Tick> times = four_blocks(bench, {block, 2 * block, 3 * block, 4 * block});
  EXPECT_EQ(times[3], times[2] + c.media_interval);
}

TEST(IdleLatency, TheIdleLatencyOfAWholeBlockToTheMediaIsThatOfItsParts) {
  Idle bench({}, {0});  // its page's translation is buffered
  const Constants& c = bench.constants;
  EXPECT_EQ(bench.store(block, 4), start + 4 * c.line + c.rmw + c.ait + c.media_write);
}

TEST(IdleLatency, TheIdleLatencyOfPartOfABlockIsThatOfTheWholeAfterItsTimeInTheQueue) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  EXPECT_EQ(bench.store(block), start + c.line + c.hold + c.rmw + c.ait + c.media_write);
}

TEST(IdleLatency, TheIdleLatencyOfAWriteWhosePageIsNotTranslatedIsThatOfItsParts) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  const Tick asked = start + 4 * c.line + c.rmw + c.ait + c.table;
  EXPECT_EQ(bench.store(1 << 24, 4), c.dram(asked) + c.media_write);
}

TEST(IdleLatency, TheIdleLatencyOfAFencedWriteDoesNotContainItsTimeInTheQueue) {
  Idle bench({}, {0});
  const Constants& c = bench.constants;
  Request write = write_of(1, block, 1);
  write.tell_media = true;
  ASSERT_TRUE(bench.send(write));
  bench.machine().fence(bench.now());
  while (bench.stored().empty()) ASSERT_FALSE(bench.step().empty());
  EXPECT_EQ(bench.now(), start + c.line + c.rmw + c.ait + c.media_write);
}

TEST(IdleLatency, TheIdleLatencyOfAReadOfAMovingBlockContainsTheRestOfTheStall) {
  const Overrides moving = {{"nvdimm.wear.writes", "1"}, {"nvdimm.wear.stall", "3000000"}};
  Idle bench(moving, {0});
  const Constants& c = bench.constants;
  const Tick moved = bench.store(block, 4);
  EXPECT_EQ(bench.read(2 * block), moved + Tick(3'000'000) + c.media_read + c.out())
      << "the block is out of reach until its move ends";
}

/// Plays requests to `addresses` as fast as they are taken; the mean time between two of them
/// being done (writes: on the media).
double interval_ps(Op op, std::uint64_t count,
                   const std::function<std::uint64_t(std::uint64_t)>& address_of) {
  Machine machine(quiet_optane());
  std::vector<Arrival> arrivals(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    Request& request = arrivals[i].request;
    request.id = i;
    request.address = Address(address_of(i));
    request.op = op;
    request.tell_media = op == Op::write;
  }
  const auto kind = op == Op::write ? Completion::Kind::media : Completion::Kind::done;
  std::vector<Tick> times;
  for (const Completion& completion : drive(machine, arrivals).completions) {
    if (completion.kind == kind) times.push_back(completion.time);
  }
  // The queues fill first, and the last lines wait in them for company.
  const std::uint64_t skipped = 128;
  const Tick span = times[count - skipped - 1] - times[skipped];
  return static_cast<double>(span.ps()) / static_cast<double>(count - 2 * skipped - 1);
}

const Constants constants(quiet_optane());

/// To a thousandth: blocks are counted, lines are timed.
void expect_interval(Tick expected, double measured) {
  const auto ps = static_cast<double>(expected.ps());
  EXPECT_NEAR(measured, ps, 0.001 * ps);
}

TEST(SaturatedRate, TheSaturatedRateOfWholeBlocksIsTheMedias) {
  // Blocks go round the lanes, so that those are not the bottleneck.
  const auto address = [](std::uint64_t i) { return i / 4 * (page + block) + i % 4 * line_bytes; };
  expect_interval(constants.media_interval, 4 * interval_ps(Op::read, 40'000, address));
  expect_interval(constants.media_write, 4 * interval_ps(Op::write, 20'000, address));
}

TEST(SaturatedRate, TheSaturatedRateOfSingleLinesIsAsIfTheyWereBlocks) {
  const auto address = [](std::uint64_t i) { return i * block; };
  expect_interval(constants.media_interval, interval_ps(Op::read, 20'000, address));
  expect_interval(constants.media_write, interval_ps(Op::write, 10'000, address));
}

TEST(SaturatedRate, TheSaturatedRateOfOneBlockWrittenOverAndOverIsItsPartitions) {
  const auto address = [](std::uint64_t i) { return i % 4 * line_bytes; };
  expect_interval(constants.media_partition, 4 * interval_ps(Op::write, 8'000, address));
}

TEST(SaturatedRate, TheSaturatedRateOfReadsFromTheRmwBufferIsTheBus) {
  const auto address = [](std::uint64_t i) { return i % 16 * page; };
  expect_interval(constants.line, interval_ps(Op::read, 20'000, address));
}

TEST(SaturatedRate, TheSaturatedRateOfReadsOfOneBlockFromTheRmwBufferIsItsLanes) {
  const auto address = [](std::uint64_t i) { return i % 4 * line_bytes; };
  expect_interval(constants.lane, interval_ps(Op::read, 20'000, address));
}

TEST(SaturatedRate, TheSaturatedRateOfReadsOfOnePageFromTheRmwBufferIsTheBus) {
  const auto address = [](std::uint64_t i) { return i % 16 * block + i / 16 % 4 * line_bytes; };
  expect_interval(constants.line, interval_ps(Op::read, 20'000, address));
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

// What only a recorded trace has: threads, fences, pages of a program, and parts of a trace that
// are skipped, warm up or count.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "mock_device.h"
#include "sim/machine/replay.h"
#include "trace/packed.h"

namespace nearfar::sim {
namespace test_file {

using trace::Access;
using trace::Record;

constexpr Tick period{1'000};

std::string packed(const std::vector<Record>& records, const trace::Timing& timing) {
  trace::PackedWriter writer({.timing = timing});
  std::string bytes;
  for (const Record& record : records) writer.put(record, bytes);
  writer.finish(bytes);
  return bytes;
}

ReplayResult play(Device& device, const std::vector<Record>& records,
                  const trace::Timing& timing = {}, trace::Window window = {}) {
  Replay replay(device, trace::make_reader("t", "nearfar"), {.clock = period, .window = window});
  replay.feed(packed(records, timing));
  return replay.finish();
}

Record at(std::uint64_t line, Access access = Access::read, std::uint16_t thread = 0) {
  return {.address = Address(line * line_bytes),
          .size = line_bytes,
          .thread = thread,
          .access = access};
}

Record fence(Access kind, std::uint16_t thread = 0) { return {.thread = thread, .access = kind}; }

std::vector<std::pair<std::uint64_t, std::uint64_t>> entered(const MockDevice& device) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
  for (const auto& entry : device.entries()) {
    list.emplace_back(entry.address.value() / line_bytes, entry.time.ps() / period.ps());
  }
  return list;
}

using Entered = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(ReplayFences, AStoreFenceWaitsForTheThreadsWritesAndForNothingElse) {
  MockDevice device({.latency = 10 * period});
  const auto result = play(device, {at(1), at(2, Access::nt_write), at(3, Access::write, 1),
                                    fence(Access::store_fence), at(4, Access::read, 1), at(5)});
  EXPECT_EQ(entered(device), (Entered{{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 10}}));
  EXPECT_EQ(result.requests, 5u);
  EXPECT_EQ(result.fences, 1u);
}

TEST(ReplayFences, AFullFenceWaitsForReadsToo) {
  for (const Access kind : {Access::store_fence, Access::full_fence}) {
    MockDevice device({.latency = 10 * period});
    static_cast<void>(play(device, {at(1), fence(kind), at(2)}));
    const std::uint64_t waited = kind == Access::full_fence ? 10 : 0;
    EXPECT_EQ(entered(device), (Entered{{1, 0}, {2, waited}}));
  }
}

TEST(ReplayThreads, InstructionsAreEachThreadsOwnAndTakeAClock) {
  MockDevice device;
  std::vector<Record> records = {at(1), at(2, Access::read, 1), at(3, Access::read, 1), at(4)};
  const std::uint64_t gaps[] = {5, 7, 1, 20};
  for (std::size_t i = 0; i < records.size(); ++i) records[i].cycles = gaps[i];
  static_cast<void>(play(device, records, {.counts = trace::Counts::instructions}));
  // A thread begins when its first record is reached.
  EXPECT_EQ(entered(device), (Entered{{1, 5}, {2, 12}, {3, 13}, {4, 25}}));
}

TEST(ReplayPrograms, PagesLieInTheOrderOfTheirFirstTouchAndFlushesAreNoRequests) {
  MockDevice device({.capacity = 2 * 4096});
  const trace::Timing program{.kind = trace::Kind::program, .counts = trace::Counts::instructions};
  const std::vector<Record> records = {
      {.address = Address(0x7fff'0000'1040)},
      {.address = Address(0x40'0010)},
      {.address = Address(0x7fff'0000'1fff), .size = 1},
      {.address = Address(0x7fff'0000'1040), .access = Access::flush}};
  const auto result = play(device, records, program);
  EXPECT_EQ(entered(device), (Entered{{1, 0}, {64, 0}, {63, 0}}));
  EXPECT_EQ(result.requests, 3u);

  MockDevice full({.capacity = 4096});
  EXPECT_THROW(static_cast<void>(play(full, records, program)), InputError);
}

TEST(ReplayMemory, AFlushIsAWriteAndAnAddressBeyondMemoryIsRefused) {
  MockDevice device;
  EXPECT_EQ(play(device, {at(1, Access::flush)}).writes, 1u);
  MockDevice small({.capacity = 64});
  EXPECT_THROW(static_cast<void>(play(small, {at(1)})), InputError);
}

TEST(ReplayParts, SkippedAccessesAreNotPlayedAndWarmUpIsNotCounted) {
  MockDevice device({.latency = 10 * period});
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < 10; ++i) records.push_back(at(i));
  const auto result = play(device, records, {}, {.skip = 2, .warm = 3, .run = 4});
  // What warmed up is let finish before counting begins.
  EXPECT_EQ(entered(device), (Entered{{2, 0}, {3, 0}, {4, 0}, {5, 10}, {6, 10}, {7, 10}, {8, 10}}));
  EXPECT_EQ(result.requests, 4u);
  EXPECT_EQ(result.elapsed, 10 * period);
  EXPECT_EQ(result.counters.at(0).value, 4u);  // offers
}

TEST(ReplayParts, PartsOfAReplayAreInstructionsIfTheTraceCountsThem) {
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < 10; ++i) {
    records.push_back(at(i));
    records.back().cycles = 100;
  }
  MockDevice device;
  const auto result = play(device, records, {.counts = trace::Counts::instructions},
                           {.skip = 250, .warm = 0, .run = 300});
  EXPECT_EQ(result.requests, 3u);
  EXPECT_EQ(entered(device).front().first, 2u);
}

}  // namespace test_file
}  // namespace nearfar::sim

#include <sched.h>

#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "probe/chase.h"
#include "probe/clock.h"
#include "probe/drop.h"
#include "probe/memory.h"
#include "probe/overwrite.h"
#include "probe/stream.h"
#include "probe/team.h"

namespace nearfar::probe {
namespace test_file {

/// Processors this process may use, at most `most` of them.
std::vector<int> usable(std::size_t most) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < most; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::uint64_t lines_of(const std::vector<Chunk>& chunks) {
  return std::accumulate(chunks.begin(), chunks.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Chunk& chunk) { return sum + chunk.lines; });
}

std::uint64_t word_at(const Memory& memory, Bytes offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, memory.base() + offset, sizeof word);
  return word;
}

ChaseRequest small_chase() {
  ChaseRequest request;
  request.region = 16 << 10;
  request.op = Op::load;
  request.lines = 3000;
  request.cpus = usable(1);
  return request;
}

TEST(AChase, AChaseWalksWholeRegionsOnceEach) {
  const ChaseRequest request = small_chase();
  EXPECT_EQ(request.regions(), 12u);
  const Memory memory({.bytes = request.footprint()});
  const Timings timings = chase(memory, request, {});
  ASSERT_EQ(timings.threads.size(), 1u);
  EXPECT_EQ(lines_of(timings.threads[0]), 12u * 256);
  for (const Chunk& chunk : timings.threads[0]) EXPECT_GE(chunk.ns, 0);
}

TEST(AChase, AChaseCutsALargeRegionIntoChunksThatSayWhereTheyLie) {
  ChaseRequest request = small_chase();
  request.region = 1 << 20;
  request.lines = 1;
  const Memory memory({.bytes = request.footprint()});
  const Timings timings = chase(memory, request, {});
  EXPECT_GE(timings.threads[0].size(), 32u);
  std::uint64_t walked = 0;
  for (const Chunk& chunk : timings.threads[0]) {
    EXPECT_EQ(chunk.at, walked);
    walked += chunk.lines;
  }
  EXPECT_EQ(walked, request.region_lines());
}

TEST(AChase, AChaseThatReadsAfterItWroteCountsBothAndPutsTheReadsBehind) {
  ChaseRequest request = small_chase();
  request.region = 1 << 20;
  request.lines = 1;
  request.op = Op::nt_store;
  request.read_after_write = true;
  const Memory memory({.bytes = request.footprint()});
  const Timings timings = chase(memory, request, {});
  EXPECT_EQ(lines_of(timings.threads[0]), 2 * request.region_lines());
  std::uint64_t walked = 0;
  for (const Chunk& chunk : timings.threads[0]) {
    EXPECT_EQ(chunk.at, walked);
    walked += chunk.lines;
  }
}

TEST(AChase, AChaseThatRepeatsOneRegionGoesOnUntilItHasEnoughChunks) {
  ChaseRequest request = small_chase();
  request.repeat = true;
  request.least_chunks = 40;
  EXPECT_EQ(request.footprint(), request.region);
  const Memory memory({.bytes = request.footprint()});
  for (const Op op : {Op::load, Op::store}) {
    request.op = op;
    const Timings timings = chase(memory, request, {});
    EXPECT_GE(timings.threads[0].size(), 40u);
    EXPECT_EQ(lines_of(timings.threads[0]) % request.region_lines(), 0u);
  }
}

TEST(AChase, AChaseStoresToItsRegionsAndToNothingElse) {
  ChaseRequest request = small_chase();
  request.op = Op::store;
  request.block = 128;
  request.stride = 256;
  request.lines = 1;
  const Memory memory({.bytes = 2 * request.footprint()});
  (void)chase(memory, request, {});
  for (Bytes at = 0; at < memory.size(); at += line_bytes) {
    EXPECT_EQ(word_at(memory, at) != 0, at < request.footprint() && at % 256 < 128) << at;
  }
}

TEST(AChase, AChaseOnSeveralThreadsGivesEachItsOwnRegions) {
  ChaseRequest request = small_chase();
  request.op = Op::nt_store;
  request.lines = 1;
  request.cpus = usable(2);
  const Memory memory({.bytes = request.footprint()});
  const Timings timings = chase(memory, request, {});
  ASSERT_EQ(timings.threads.size(), request.cpus.size());
  for (const auto& chunks : timings.threads) EXPECT_EQ(lines_of(chunks), 256u);
  for (Bytes at = 0; at < memory.size(); at += line_bytes) {
    EXPECT_NE(word_at(memory, at), 0u) << at;
  }
}

TEST(AChase, AChaseBeyondItsMemoryIsRefused) {
  const ChaseRequest request = small_chase();
  const Memory memory({.bytes = request.footprint() - 64});
  EXPECT_THROW((void)chase(memory, request, {}), InputError);
}

TEST(AnOverwrite, AnOverwriteKeepsATimeForEveryWriteAndGoesRoundItsRegion) {
  const Memory memory({.bytes = 8192});
  OverwriteRequest request;
  request.region = 512;
  request.writes = 7;
  request.cpu = usable(1)[0];
  const OverwriteTimes times = overwrite(memory, request, {});
  EXPECT_EQ(times.ns.size(), 7u);
  EXPECT_EQ(memory.base()[0], std::byte{6});
  EXPECT_EQ(memory.base()[511 - 7], std::byte{5});
  EXPECT_EQ(memory.base()[512], std::byte{0});
}

TEST(AStream, AStreamMakesAsManyAccessesAsWereAskedForOnEachThread) {
  StreamRequest request;
  request.op = Op::nt_store;
  request.access = 256;
  request.stride = 512;
  request.area = 64 << 10;
  request.lines = 1000;
  request.cpus = usable(2);
  const Memory memory({.bytes = request.area * request.cpus.size()});
  const Timings timings = stream(memory, request, {});
  ASSERT_EQ(timings.threads.size(), request.cpus.size());
  for (const auto& chunks : timings.threads) EXPECT_EQ(lines_of(chunks), 1000u);
}

TEST(AStream, AStreamLeavesInItsAreaTheValueItWasToldToWriteOverTheOneItFound) {
  StreamRequest request;
  request.op = Op::nt_store;
  request.stride = line_bytes;
  request.area = 4096;
  request.lines = 10;
  request.cpus = usable(1);
  request.value.emplace().bytes.fill(std::byte{0xaa});
  request.held.emplace().bytes.fill(std::byte{0x12});
  const Memory memory({.bytes = request.area});
  (void)stream(memory, request, {});
  for (Bytes at = 0; at < request.area; ++at) {
    ASSERT_EQ(memory.base()[at], at < 10 * line_bytes ? std::byte{0xaa} : std::byte{0x12}) << at;
  }
}

TEST(Contention, ContentionTimesTheReaderAndCountsTheBytesOfTheOthers) {
  ContentionRequest request;
  request.area = 1 << 20;
  request.reads = 5000;
  request.cpus = usable(2);
  const Memory memory({.bytes = request.area * request.cpus.size()});
  for (const bool chases : {false, true}) {
    request.chases = chases;
    const ContentionTimings timings = contention(memory, request, {});
    EXPECT_EQ(lines_of(timings.reader), 5000u);
    EXPECT_EQ(timings.other_gb_per_s > 0, request.cpus.size() > 1);
  }
}

TEST(Contention, ContentionWithADelayMovesNoMoreThanTheDelayAllows) {
  ContentionRequest request;
  request.area = 1 << 20;
  request.reads = 20'000;
  request.op = Op::load;
  request.delay_ns = 1000;
  request.cpus = usable(2);
  if (request.cpus.size() < 2) GTEST_SKIP() << "one processor";
  const Memory memory({.bytes = request.area * request.cpus.size()});
  const ContentionTimings timings = contention(memory, request, {});
  EXPECT_GT(timings.other_gb_per_s, 0);
  EXPECT_LE(timings.other_gb_per_s, 0.0641);  // 64 B a microsecond
}

TEST(Dropping, DroppingLinesIsTimedAsOftenAsAsked) {
  const Memory memory({.bytes = 4096});
  for (const bool changes : {false, true}) {
    const DropRequest request{.lines = 64, .changes = changes, .chunks = 5, .cpu = usable(1)[0]};
    const Timings timings = drop(memory, request, {});
    ASSERT_EQ(timings.threads.size(), 1u);
    EXPECT_EQ(timings.threads[0].size(), 5u);
    EXPECT_EQ(lines_of(timings.threads[0]), 5u * 64);
    EXPECT_EQ(word_at(memory, 8), changes ? 5u : 0u);
  }
  EXPECT_THROW((void)drop(memory, {.lines = 65}, {}), InputError);
  EXPECT_THROW((void)drop(memory, {.lines = 0}, {}), InputError);
}

TEST(AWalk, AWalkThatChangesItsLinesTakesOnlyWholeLines) {
  const Memory memory({.bytes = 1 << 20});
  FollowRequest request;
  request.offsets = {0, 4096, 64};
  request.changes = true;
  request.chunks = 2;
  request.chunk_ns = 1000;
  request.cpu = usable(1)[0];
  (void)follow(memory, request, {});
  EXPECT_GT(word_at(memory, 4096 + 8), 0u);
  request.offsets = {0, 8};
  EXPECT_THROW((void)follow(memory, request, {}), InputError);
}

TEST(AWalk, AWalkTakesAsManyChunksAsWereAskedForAndStaysAmongItsOffsets) {
  const Memory memory({.bytes = 1 << 20});
  FollowRequest request;
  request.offsets = {0, 4096, 64, 8192 + 8};
  request.chunks = 5;
  request.chunk_ns = 1000;
  request.cpu = usable(1)[0];
  const Timings timings = follow(memory, request, {});
  EXPECT_EQ(timings.threads[0].size(), 5u);
  request.offsets = {0, 1 << 20};
  EXPECT_THROW((void)follow(memory, request, {}), InputError);
  request.offsets = {4};
  EXPECT_THROW((void)follow(memory, request, {}), InputError);
  request.offsets.clear();
  EXPECT_THROW((void)follow(memory, request, {}), InputError);
}

TEST(ATeam, ATeamEndsWithTheErrorOfTheLeadersPollAndLeavesNoThreadRunning) {
  int polls = 0;
  const Poll poll = [&] {
    if (++polls == 10) throw std::runtime_error("stop");
  };
  EXPECT_THROW(run_team(
                   usable(2),
                   [](const Member& member) {
                     member.await_start();
                     while (member.carry_on()) {
                     }
                   },
                   poll),
               std::runtime_error);
  EXPECT_EQ(polls, 10);
}

TEST(ATeam, ATeamGivesItsCallerTheProcessorsItHadBefore) {
  const std::vector<int> before = usable(CPU_SETSIZE);
  std::vector<int> during;
  run_team({before.front()}, [&](const Member&) { during = usable(CPU_SETSIZE); }, {});
  EXPECT_EQ(during, std::vector<int>{before.front()});
  EXPECT_EQ(usable(CPU_SETSIZE), before);
}

TEST(ATeam, ATeamOnAnAbsentProcessorIsRefused) {
  EXPECT_THROW(run_team({CPU_SETSIZE - 1}, [](const Member&) {}, {}), InputError);
}

TEST(TheClock, TheClockSubtractsTheCostOfReadingItButNeverBelowZero) {
  const Clock& clock = Clock::host();
  EXPECT_GT(clock.hertz(), 1e8);
  EXPECT_LE(clock.overhead_p10_ns(), clock.overhead_p50_ns());
  EXPECT_LE(clock.overhead_p50_ns(), clock.overhead_p90_ns());
  EXPECT_EQ(clock.ns(0), 0);
  EXPECT_EQ(clock.ns(1), 0);
  EXPECT_NEAR(clock.raw_ns(1'000'000) - clock.ns(1'000'000), clock.overhead_p50_ns(), 1e-3);
}

TEST(AChunk, AChunkIsAsLargeAsTheFastestSeenAllows) {
  ChunkSize size(10'000, 1000);
  EXPECT_EQ(size.units(), 64u);
  size.learn(64, 64);
  EXPECT_EQ(size.units(), 1000u);
  size.learn(64'000, 64);  // a disturbed one
  EXPECT_EQ(size.units(), 1000u);
  size.learn(0.001, 1000);
  EXPECT_EQ(size.units(), 10'000u);
}

}  // namespace test_file
}  // namespace nearfar::probe

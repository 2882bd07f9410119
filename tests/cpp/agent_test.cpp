#include "sim/cpu/agent.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "agent_fixture.h"
#include "machine_fixture.h"

/// The request agent before a memory that takes 100 ns for everything: what a core's limits alone
/// make of a program.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::optane;
using testing::step_of;
using Kind = Step::Kind;
using Script = std::vector<Step>;

constexpr Tick memory(100'000);

/// `count` steps of one kind, each to a line of its own.
Script many(Kind kind, std::uint64_t count, std::uint32_t instructions = 0) {
  Script script;
  for (std::uint64_t line = 0; line < count; ++line) {
    script.push_back(step_of(kind, line));
    script.back().instructions = instructions;
  }
  return script;
}

/// Loads each of which needs the one before.
Script chain(std::uint64_t count) {
  Script script = many(Kind::load, count);
  for (Step& step : script) step.waits = step.feeds = true;
  return script;
}

Script operator+(Script a, const Script& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// `body` between two readings of the clock.
Script timed(const Script& body) {
  return Script{step_of(Kind::sample_begin)} + body + Script{step_of(Kind::sample_end)};
}

/// A core without caches, the time between two accesses and that of reading the clock, so that
/// what remains is what a test is about.
Config core() {
  Config config = Config::from(optane());
  config.load_issue = config.store_issue = config.timer = Tick(0);
  config.cached = false;
  return config;
}

struct Played : testing::PlayedByAgent {
  Played(const Config& config, const std::vector<Script>& scripts, const Agent::Limits& limits = {},
         std::uint32_t slots = 1'000'000)
      : PlayedByAgent(config, scripts, {.latency = memory, .slots = slots}, limits) {}
  Played(const Config& config, const Script& script)
      : Played(config, std::vector<Script>{script}) {}

  /// How often each line was asked for.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> entered(Op op) const {
    std::map<std::uint64_t, std::uint64_t> lines;
    for (const auto& entry : device.entries()) {
      if (entry.op == op) ++lines[entry.address.block(line_bytes)];
    }
    return lines;
  }
};

TEST(Load, ALoadTakesTheWayOutTheMemoryAndTheWayBack) {
  const Config config = core();
  const Played run(config, many(Kind::load, 1));
  EXPECT_EQ(run.measured.latency.max(), (config.read_out + memory + config.read_back).ps());
  EXPECT_EQ(run.device.entries().front().time, config.read_out);
}

TEST(Load, ALoadWaitsForTheLoadThatGivesItsAddress) {
  const Config config = core();
  const Played run(config, chain(10));
  EXPECT_EQ(run.now, 10 * (config.read_out + memory + config.read_back));
  EXPECT_EQ(run.device.most_in_use(), 1u);
}

TEST(Load, ALoadOverlapsAsManyAsThereAreLineBuffers) {
  for (const std::uint32_t buffers : {1u, 3u, 16u}) {
    Config config = core();
    config.load_buffers = buffers;
    const Played run(config, many(Kind::load, 4800));
    EXPECT_EQ(run.device.most_in_use(), buffers);
    // Little: 4800 loads, `buffers` at a time.
    EXPECT_EQ(run.now, 4800 / buffers * (config.read_out + memory + config.read_back));
  }
}

TEST(Load, ALoadNeedsRoomInTheReorderBufferBehindTheOldestThatIsOut) {
  // With a loop of n instructions around each, loads n instructions apart: k of them span
  // (k - 1) n instructions, less than the reorder buffer's.
  for (const std::uint32_t instructions : {16u, 32u, 100u, 223u, 224u, 1000u}) {
    const Played run(core(), many(Kind::load, 2000, instructions));
    EXPECT_EQ(run.device.most_in_use(), std::min(16u, (223 / instructions) + 1)) << instructions;
  }
}

TEST(Load, ALoadIsNotHeldUpBySfence) {
  // Stores are: this is a fence for stores. Nothing has been stored.
  const Played run(core(), many(Kind::load, 1) + many(Kind::sfence, 1) + many(Kind::load, 1));
  EXPECT_EQ(run.device.most_in_use(), 2u);
}

TEST(NonTemporalStore, ANonTemporalStoreHoldsItsBufferUntilTheAcceptanceIsBack) {
  Config config = core();
  const Played run(config, many(Kind::nt_store, 1200));
  EXPECT_EQ(config.wc_buffers, 12u);
  EXPECT_EQ(run.now, 100 * (config.nt_out + memory + config.nt_back));
}

TEST(CachedStore, ACachedStoreBringsItsLineInFirst) {
  const Config config = core();
  const Played run(config, many(Kind::store_clwb, 1));
  const auto& entries = run.device.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].op, Op::read);
  EXPECT_EQ(entries[1].op, Op::write);
  EXPECT_EQ(entries[1].time, config.read_out + memory + config.read_back + config.flush_out);
}

TEST(CachedStore, ACachedStoreIsFlushedInProgramOrderByAFewFlushBuffers) {
  Config config = core();
  const Played run(config, many(Kind::store_clwb, 400));
  std::uint64_t next = 0;
  std::vector<Tick> sent;
  for (const auto& entry : run.device.entries()) {
    if (entry.op != Op::write) continue;
    EXPECT_EQ(entry.address, Address(next++ * line_bytes));
    sent.push_back(entry.time);
  }
  ASSERT_EQ(next, 400u);
  // A buffer is taken for the way out, the memory and the way back, or for longer.
  const Tick taken = max(config.flush_out + memory + config.flush_back, config.flush_occupancy);
  for (std::size_t i = config.flush_buffers; i < sent.size(); ++i) {
    ASSERT_GE(sent[i] - sent[i - config.flush_buffers], taken);
  }
  EXPECT_EQ(sent.back() - sent.front(), 99 * taken) << "and no longer";
}

TEST(CachedStore, ACachedStorePushesAnotherLineOutWhenTheCachesAreFull) {
  Config config = core();
  config.writeback_lines = 100;
  const Played run(config, many(Kind::store, 500));
  const auto written = run.entered(Op::write);
  EXPECT_EQ(written.size(), 400u);
  for (const auto& [line, times] : written) EXPECT_EQ(times, 1u) << line;
}

TEST(Sfence, AnSfenceWaitsUntilEveryStoreBeforeItIsAcknowledged) {
  const Config config = core();
  const Script fence{step_of(Kind::sfence)};
  EXPECT_EQ(Played(config, timed(many(Kind::nt_store, 1) + fence)).measured.samples.front(),
            config.nt_out + memory + config.nt_back + config.sfence);
  EXPECT_EQ(Played(config, timed(many(Kind::store_clwb, 1) + fence)).measured.samples.front(),
            config.read_out + memory + config.read_back + config.flush_out + memory +
                config.flush_back + config.sfence);
  EXPECT_EQ(Played(config, timed(fence)).measured.samples.front(), config.sfence);
}

TEST(Sfence, AnSfenceHoldsLaterStoresBackButNotTheAskingForTheirLines) {
  const Config config = core();
  const Script fence{step_of(Kind::sfence)};
  const Played run(config, timed(Script{step_of(Kind::store_clwb, 0)} + fence +
                                 Script{step_of(Kind::store_clwb, 1)} + fence +
                                 Script{step_of(Kind::store_clwb, 2)} + fence));
  std::vector<Tick> read, written;
  for (const auto& entry : run.device.entries()) {
    (entry.op == Op::read ? read : written).push_back(entry.time);
  }
  EXPECT_EQ(read, std::vector<Tick>(3, config.read_out));
  const Tick fenced = config.flush_out + memory + config.flush_back + config.sfence;
  ASSERT_EQ(written.size(), 3u);
  EXPECT_EQ(written[1], written[0] + fenced);
  EXPECT_EQ(written[2], written[1] + fenced);
  EXPECT_EQ(run.measured.samples.front(), written[2] - config.flush_out + fenced);
}

TEST(Sfence, AnSfenceHoldsBackNonTemporalStoresButNotLoads) {
  const Config config = core();
  const Played run(config, Script{step_of(Kind::nt_store, 0), step_of(Kind::sfence),
                                  step_of(Kind::load, 1), step_of(Kind::nt_store, 2)});
  std::map<std::uint64_t, Tick> sent;
  for (const auto& entry : run.device.entries()) {
    sent[entry.address.block(line_bytes)] = entry.time;
  }
  EXPECT_EQ(sent[1], config.read_out);
  EXPECT_EQ(sent[2], 2 * config.nt_out + memory + config.nt_back + config.sfence);
}

TEST(Mfence, AnMfenceWaitsForLoadsToo) {
  const Config config = core();
  const Script mfence{step_of(Kind::mfence)};
  EXPECT_EQ(Played(config, timed(many(Kind::load, 1) + mfence)).measured.samples.front(),
            config.read_out + memory + config.read_back + config.mfence);
  EXPECT_EQ(Played(config, timed(many(Kind::nt_store, 1) + mfence)).measured.samples.front(),
            config.nt_out + memory + config.nt_back + config.mfence);
}

TEST(Thread, AThreadHasBuffersOfItsOwn) {
  const Played run(core(), std::vector<Script>(3, many(Kind::load, 100)));
  EXPECT_EQ(run.device.most_in_use(), 3 * 16u);
}

TEST(Agent, AnAgentSendsEveryLineOfItsProgramsOnceWhateverTheMemoryRefuses) {
  for (const std::uint32_t slots : {1u, 2u, 7u, 1000u}) {
    for (const std::uint32_t reorder : {0u, 1u, 5u}) {
      Config config = core();
      config.reorder_reads = config.reorder_writes = reorder;
      config.writeback_lines = 0;
      std::vector<Script> scripts;
      std::map<std::uint64_t, std::uint64_t> reads;
      std::map<std::uint64_t, std::uint64_t> writes;
      Rng rng(slots * 10 + reorder);
      for (std::uint64_t thread = 0; thread < 4; ++thread) {
        Script script;
        for (int i = 0; i < 2000; ++i) {
          constexpr auto kinds = std::to_array(
              {Kind::load, Kind::nt_store, Kind::store_clwb, Kind::store, Kind::sfence});
          const Kind kind = kinds[rng.below(kinds.size())];
          const std::uint64_t line = rng.below(300);
          script.push_back(step_of(kind, line));
          if (kind == Kind::load || kind == Kind::store_clwb || kind == Kind::store) ++reads[line];
          if (kind == Kind::nt_store || kind == Kind::store_clwb || kind == Kind::store) {
            ++writes[line];
          }
        }
        scripts.push_back(script);
      }
      const Played run(config, scripts, {}, slots);
      EXPECT_EQ(run.entered(Op::read), reads);
      EXPECT_EQ(run.entered(Op::write), writes);
      EXPECT_LE(run.device.most_in_use(), slots);
      EXPECT_FALSE(run.device.time_went_back());
    }
  }
}

TEST(Agent, AnAgentDoesTheSameForTheSameSeed) {
  const auto entries = [] {
    Config config = core();
    config.writeback_lines = 50;
    const Script script =
        many(Kind::store, 300) + many(Kind::load, 300) + many(Kind::nt_store, 300);
    return Played(config, std::vector<Script>(5, script), {}, 3).device.entries();
  };
  EXPECT_EQ(entries(), entries());
}

TEST(Agent, AnAgentMeasuresFromTheEndOfTheWarmUpToTheLimit) {
  const Played run(core(), {chain(100)}, {.lines = 60, .warm_lines = 10});
  EXPECT_EQ(run.measured.lines, 50u);
  EXPECT_EQ(run.entered(Op::read).size(), 60u) << "what is after the limit is not done";
  const Config config = core();
  EXPECT_EQ(run.measured.elapsed, 50 * (config.read_out + memory + config.read_back));
}

TEST(Agent, AnAgentMeasuresTheFirstThreadOfSeveralIfToldTo) {
  const Played run(core(), {chain(20), many(Kind::load, 100'000)}, {.leader_lines = 20});
  EXPECT_EQ(run.measured.latency.count(), 20u);
  EXPECT_LT(run.device.entries().size(), 100'000u) << "the other thread ends with it";
}

TEST(NoCore, RequestsWithoutACoreReachTheMemoryAtOnce) {
  const Played run(Config::none(7), many(Kind::load, 700));
  EXPECT_EQ(run.device.entries().front().time, Tick(0));
  EXPECT_EQ(run.device.most_in_use(), 7u);
  EXPECT_EQ(run.now, 100 * memory);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

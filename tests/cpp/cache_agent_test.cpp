#include "sim/cpu/agent.h"

#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "agent_fixture.h"
#include "machine_fixture.h"

/// The request agent with its caches, before a memory that takes 100 ns for everything.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::optane;
using testing::step_of;
using Kind = Step::Kind;

constexpr Tick memory(100'000);

/// `kind` of `lines` lines, `times` times over, each after the last.
std::vector<Step> round_and_round(Kind kind, std::uint64_t lines, std::uint64_t times) {
  std::vector<Step> script;
  for (std::uint64_t i = 0; i < lines * times; ++i) {
    script.push_back(step_of(kind, i % lines));
    script.back().waits = script.back().feeds = kind == Kind::load;
  }
  return script;
}

/// Small caches, and no time but that of what a test is about.
Config core() {
  Config config = Config::from(optane());
  config.load_issue = config.store_issue = config.timer = config.sfence = Tick(0);
  config.caches.l1.size = 4096;
  config.caches.l2.size = 16 * 1024;
  config.caches.l3.size = 66 * 1024;
  config.caches.l3.slices = 3;
  config.caches.l3.ways = 11;
  config.caches.tlb.second_latency = config.caches.tables.apart = Tick(0);
  return config;
}

struct Played : testing::PlayedByAgent {
  Played(const Config& config, const std::vector<std::vector<Step>>& scripts,
         std::uint64_t untimed = 0)
      : PlayedByAgent(config, scripts, {.latency = memory}, {.untimed = untimed}) {}

  [[nodiscard]] std::uint64_t entered(Op op) const {
    std::uint64_t count = 0;
    for (const auto& entry : device.entries()) count += entry.op == op ? 1 : 0;
    return count;
  }
};

TEST(CachedLoad, ACachedLoadTakesItsLevelsLatencyAndBeyondThemTheWayToMemory) {
  const Config config = core();
  const Tick miss = config.read_out + memory + config.read_back;
  const Tick walk = config.caches.l1.latency;  // the page's entry, once it has been read
  const struct {
    std::uint64_t lines;
    Tick each;
  } levels[] = {{32, config.caches.l1.latency}, {128, config.caches.l2.latency}};
  for (const auto& level : levels) {
    const Played run(config, {round_and_round(Kind::load, level.lines, 11)});
    // The first round misses; the page's entry was in no cache and cost no time.
    const Tick expected = level.lines * miss + 10 * level.lines * level.each;
    EXPECT_EQ(run.now, expected) << level.lines;
    EXPECT_EQ(run.entered(Op::read), level.lines);
    EXPECT_EQ(run.counters.at("misses"), level.lines);
    EXPECT_EQ(run.counters.at("tlb.walks"), 1u);
  }
  EXPECT_GT(walk, Tick(0));
}

TEST(CachedLoad, ACachedLoadReachesMemoryOnceForALineItAndAStoreWaitFor) {
  const Config config = core();
  Step update = step_of(Kind::store, 5);
  update.again = true;
  const Played run(config, {{step_of(Kind::load, 5), update}});
  EXPECT_EQ(run.entered(Op::read), 1u);
  EXPECT_EQ(run.entered(Op::write), 0u);
  EXPECT_EQ(run.measured.lines, 1u);
}

TEST(CachedLoad, AsManyCachedLoadsAreOutAsThereAreRegisters) {
  Config config = core();
  config.caches.l1.mshrs = 3;
  std::vector<Step> loads;
  for (std::uint64_t line = 0; line < 30; ++line) loads.push_back(step_of(Kind::load, line));
  const Played run(config, {loads});
  EXPECT_EQ(run.device.most_in_use(), 3u);
  EXPECT_EQ(run.now, 10 * (config.read_out + memory + config.read_back));
}

TEST(UncachedLoad, AnUncachedLoadFindsLinesOfTheCachesAndLeavesNothing) {
  const Config config = core();
  std::vector<Step> script{step_of(Kind::load, 1),    step_of(Kind::mfence),
                           step_of(Kind::nt_load, 1), step_of(Kind::nt_load, 2),
                           step_of(Kind::mfence),     step_of(Kind::nt_load, 2)};
  EXPECT_EQ(Played(config, {script}).entered(Op::read), 3u);
}

TEST(CachedStore, ACachedStoreReachesMemoryOnceForEachLineThatIsThrownOut) {
  const Config config = core();
  std::vector<Step> stores;
  constexpr std::uint64_t lines = 5'000;
  for (std::uint64_t line = 0; line < lines; ++line) stores.push_back(step_of(Kind::store, line));
  const Played run(config, {stores});
  std::set<std::uint64_t> written;
  for (const auto& entry : run.device.entries()) {
    if (entry.op == Op::read) continue;
    EXPECT_TRUE(written.insert(entry.address.value()).second);
  }
  EXPECT_EQ(run.entered(Op::read), lines);
  // What is not written lies in L2 and L3, which together hold 256 and 1056 lines.
  EXPECT_GE(written.size(), lines - 256 - 1056);
  EXPECT_LT(written.size(), lines - 1056);
  EXPECT_EQ(run.counters.at("writebacks"), written.size());
}

TEST(CachedStore, ACachedStoreWithClwbIsWrittenOnceAndItsLineStaysIfTheCoreKeepsIt) {
  for (const bool keeps : {false, true}) {
    Config config = core();
    config.clwb_keeps = keeps;
    const Played run(config, {round_and_round(Kind::store_clwb, 8, 4)});
    EXPECT_EQ(run.entered(Op::write), 32u);
    EXPECT_LE(run.entered(Op::read), 32u);
    EXPECT_TRUE(!keeps || run.entered(Op::read) == 8u);
  }
}

TEST(NonTemporalStore, ANonTemporalStoreThrowsTheLineOutOfTheCaches) {
  const Config config = core();
  const Played run(config,
                   {{step_of(Kind::store, 1), step_of(Kind::mfence), step_of(Kind::nt_store, 1),
                     step_of(Kind::mfence), step_of(Kind::load, 1)}});
  EXPECT_EQ(run.entered(Op::read), 2u);
  EXPECT_EQ(run.entered(Op::write), 1u);
}

TEST(Cores, CoresPassALineToOneAnotherWithoutTheMemory) {
  Config config = core();
  config.reorder_reads = 0;
  std::vector<std::vector<Step>> scripts;
  for (int core = 0; core < 3; ++core) {
    std::vector<Step> script;
    for (int i = 0; i < 200; ++i) {
      script.push_back(step_of(Kind::store, static_cast<std::uint64_t>(i % 4)));
      script.push_back(step_of(Kind::load, static_cast<std::uint64_t>((i + core) % 4)));
    }
    scripts.push_back(script);
  }
  const Played run(config, scripts);
  EXPECT_EQ(run.measured.lines, 3u * 400u);
  EXPECT_EQ(run.entered(Op::read), 4u);
  EXPECT_EQ(run.entered(Op::write), 0u);
}

TEST(Prefetchers, PrefetchersFetchTheirLinesAndNothingWhenOff) {
  Config config = core();
  const std::vector<Step> two{step_of(Kind::load, 6), step_of(Kind::mfence),
                              step_of(Kind::load, 7)};
  EXPECT_EQ(Played(config, {two}).counters.at("prefetches"), 0u);
  config.caches.prefetch.adjacent = true;
  const Played pair(config, {two});
  EXPECT_EQ(pair.counters.at("prefetches"), 1u);
  EXPECT_EQ(pair.counters.at("misses"), 1u);
  EXPECT_EQ(pair.entered(Op::read), 2u);

  // It sees translated addresses alone: no sooner than the load it follows.
  config.caches.tlb.second_latency = Tick(7'000);
  const Played walked(config, {two});
  EXPECT_EQ(walked.device.entries()[0].address, Address(6 * line_bytes));
  EXPECT_EQ(walked.device.entries()[1].time, walked.device.entries()[0].time);
  config.caches.tlb.second_latency = Tick(0);

  config.caches.prefetch = {.stream = true, .streams = 4, .degree = 2, .distance = 6};
  std::vector<Step> upward;
  for (std::uint64_t line = 0; line < 64; ++line) {
    upward.push_back(step_of(Kind::load, line));
    upward.back().waits = upward.back().feeds = true;
  }
  const Played stream(config, {upward});
  // Nine lines teach it the direction; it stops at the page's end, so each is read once.
  EXPECT_EQ(stream.entered(Op::read), 64u);
  EXPECT_EQ(stream.counters.at("prefetches"), 55u);
  EXPECT_LT(stream.now, 20 * (config.read_out + memory + config.read_back));
}

TEST(Prefetchers, ALineThatAPrefetcherHasAskedL3ForIsNotInL2BeforeItHasCome) {
  Config config = core();
  config.caches.prefetch = {.stream = true, .streams = 16, .degree = 1, .distance = 1};
  constexpr std::uint64_t lines = 512;  // twice as many as L2 has
  const Played run(config, {round_and_round(Kind::load, lines, 3)}, lines);
  EXPECT_EQ(run.entered(Op::read), 0u);
  EXPECT_GT(run.counters.at("l2.hits"), lines);
  // Each line is asked for when the one before it is loaded: two loads take L3's latency.
  EXPECT_GE(run.now, lines * config.caches.l3.latency);
  EXPECT_LT(run.now, 2 * lines * config.caches.l3.latency);
}

TEST(Agent, TheSecondLoadOfALineWaitsUntilTheFirstHasBroughtIt) {
  const Config config = core();
  std::vector<Step> script = round_and_round(Kind::load, 128, 2);
  const Played once(config, {script}, 128);
  std::vector<Step> twice(script.begin(), script.begin() + 128);
  for (std::uint64_t line = 0; line < 128; ++line) {
    twice.insert(twice.end(), 2, script[line]);
    twice[twice.size() - 2].feeds = false;  // the next line waits for the second load alone
  }
  EXPECT_EQ(Played(config, {twice}, 128).now, once.now);
}

TEST(Agent, AnAgentWarmsItsCachesWithoutTimeOrMemory) {
  const Config config = core();
  const Played run(config, {round_and_round(Kind::load, 32, 3)}, 32);
  EXPECT_EQ(run.entered(Op::read), 0u);
  EXPECT_EQ(run.now, 64 * config.caches.l1.latency);
  EXPECT_EQ(run.counters.at("l1.hits"), 64u);
}

TEST(Agent, AnAgentWithCachesDoesTheSameForTheSameSeed) {
  Config config = core();
  config.caches.prefetch = {
      .adjacent = true, .stream = true, .streams = 8, .degree = 2, .distance = 8};
  Rng rng(3);
  std::vector<std::vector<Step>> scripts(3);
  for (auto& script : scripts) {
    for (int i = 0; i < 3'000; ++i) {
      constexpr Kind kinds[] = {Kind::load,     Kind::store,   Kind::store_clwb, Kind::sfence,
                                Kind::nt_store, Kind::nt_load, Kind::mfence};
      script.push_back(step_of(kinds[rng.below(7)], rng.below(2'000)));
    }
  }
  const Played first(config, scripts);
  const Played second(config, scripts);
  EXPECT_EQ(first.now, second.now);
  EXPECT_EQ(first.device.entries(), second.device.entries());
  EXPECT_EQ(first.counters, second.counters);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "agent_fixture.h"
#include "base/rng.h"
#include "effort.h"
#include "machine_fixture.h"
#include "sim/cpu/agent.h"

/// Page walks of the request agent that read memory, which takes 100 ns for everything.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::optane;
using testing::step_of;
using Kind = Step::Kind;

constexpr Tick memory(100'000);
constexpr Address tables_base(Bytes{1} << 29);
constexpr Bytes tables_size = Bytes{1} << 24;
constexpr Line page_lines = Tlb::small_page / line_bytes;
constexpr Line region_lines = Tlb::huge_page / line_bytes;

/// Pages of 4 KiB, whose tables lie in memory, and no time but that of what a test is about.
Config core(std::uint32_t walkers = 2) {
  Config config = Config::from(optane());
  config.load_issue = config.store_issue = config.timer = config.sfence = Tick(0);
  config.caches.tlb.page = Tlb::small_page;
  config.caches.tlb.second_latency = Tick(0);
  config.caches.tlb.walkers = walkers;
  config.caches.tables = {.base = tables_base, .size = tables_size, .apart = Tick(0)};
  return config;
}

Tick miss(const Config& config) { return config.read_out + memory + config.read_back; }

struct Played : testing::PlayedByAgent {
  Played(const Config& config, const std::vector<std::vector<Step>>& scripts,
         const MockDevice::Config& mock = {.latency = memory})
      : PlayedByAgent(config, scripts, mock) {}

  /// Reads of the tables' part of memory.
  [[nodiscard]] std::uint64_t table_reads() const {
    std::uint64_t count = 0;
    for (const auto& entry : device.entries()) {
      const bool table = entry.address.value() >= tables_base.value() &&
                         entry.address.value() < tables_base.value() + tables_size;
      count += table && entry.op == Op::read ? 1 : 0;
    }
    return count;
  }
};

std::vector<Step> loads(std::initializer_list<Line> lines) {
  std::vector<Step> script;
  for (const Line line : lines) script.push_back(step_of(Kind::load, line));
  return script;
}

TEST(PageWalk, APageWalkReadsDirectoryAndEntryOneAfterTheOtherAndThenTheLine) {
  const Config config = core();
  const Played run(config, {loads({5})});
  EXPECT_EQ(run.now, 3 * miss(config));
  EXPECT_EQ(run.table_reads(), 2u);
  EXPECT_EQ(run.device.entries().size(), 3u);
  EXPECT_EQ(run.counters.at("tlb.walks"), 1u);
  EXPECT_EQ(run.counters.at("tlb.walks_to_memory"), 2u);
}

TEST(PageWalk, APageWalkToAPageOf2MiBReadsOneTable) {
  Config config = core();
  config.caches.tlb.page = Tlb::huge_page;
  const Played run(config, {loads({5})});
  EXPECT_EQ(run.now, 2 * miss(config));
  EXPECT_EQ(run.table_reads(), 1u);
}

TEST(PageWalk, APageWalkTakesAConstantWhereTablesLieApart) {
  Config config = core();
  config.caches.tables = {.apart = Tick(80'000)};
  const Played run(config, {loads({5})});
  EXPECT_EQ(run.now, 2 * Tick(80'000) + miss(config));
  EXPECT_EQ(run.device.entries().size(), 1u);
}

TEST(PageWalk, APageWalkFindsTheTablesOfAnEarlierOneInTheCaches) {
  const Config config = core();
  std::vector<Step> script = loads({5});
  script.push_back(step_of(Kind::mfence));
  script.push_back(step_of(Kind::load, 5 + page_lines));
  Config free = config;
  free.mfence = Tick(0);
  const Played run(free, {script});
  // The next page's entry lies in the same line, which is in L1.
  EXPECT_EQ(run.now, 3 * miss(config) + config.caches.l1.latency + miss(config));
  EXPECT_EQ(run.table_reads(), 2u);
  EXPECT_EQ(run.counters.at("tlb.walks"), 2u);
}

TEST(PageWalk, OnePageWalkServesAllAccessesThatNeedThePage) {
  const Config config = core();
  std::vector<Step> script = loads({1, 2, 3, 4});
  script.push_back(step_of(Kind::store, 5));
  const Played run(config, {script});
  EXPECT_EQ(run.now, 3 * miss(config));
  EXPECT_EQ(run.counters.at("tlb.walks"), 1u);
  EXPECT_EQ(run.counters.at("misses"), 5u);
}

TEST(PageWalk, APageWalkWaitsForAWalkerWhenAllAreAtWork) {
  // Each walk reads a directory's line and an entry's of its own.
  const std::vector<Step> script =
      loads({0, 8 * region_lines, 16 * region_lines, 24 * region_lines});
  for (const std::uint32_t walkers : {1u, 2u, 4u}) {
    const Config config = core(walkers);
    const Played run(config, {script});
    EXPECT_EQ(run.now, (4 / walkers) * 2 * miss(config) + miss(config)) << walkers;
    EXPECT_EQ(run.table_reads(), 8u);
  }
}

TEST(PageWalk, APageWalkAsksMemoryOnceForALineThatTwoWalksNeed) {
  const Config config = core();
  // Pages side by side: their entries share a line.
  const Played run(config, {loads({0, page_lines})});
  EXPECT_EQ(run.counters.at("tlb.walks"), 2u);
  EXPECT_EQ(run.table_reads(), 2u);
}

TEST(PageWalk, APageWalkOfOneCoreKeepsNoOtherWaiting) {
  const Config config = core(1);
  const Played one(config, {loads({0})});
  const Played two(config, {loads({0}), loads({16 * region_lines})});
  EXPECT_EQ(one.now, two.now);
}

/// Loads and stores of random pages by threads of a crowded machine.
std::vector<std::vector<Step>> crowd(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::vector<Step>> scripts(1 + rng.below(6));
  for (auto& script : scripts) {
    for (int i = 0; i < 400; ++i) {
      constexpr Kind kinds[] = {Kind::load,       Kind::load,   Kind::store,
                                Kind::store_clwb, Kind::sfence, Kind::mfence};
      const std::uint64_t kind = rng.below(40);
      Step step = step_of(kinds[kind < 4 ? 2 + kind : kind % 3], rng.below(Line{1} << 21));
      step.waits = step.feeds = step.kind == Kind::load && rng.below(3) == 0;
      script.push_back(step);
    }
  }
  return scripts;
}

TEST(PageWalk, APageWalkEndsWhateverIsShort) {
  for (std::uint64_t seed = 1; seed <= sim::testing::cases(60); ++seed) {
    Rng rng(seed);
    Config config = core(static_cast<std::uint32_t>(1 + rng.below(3)));
    config.cores = static_cast<std::uint32_t>(1 + rng.below(4));
    config.caches.l1.mshrs = static_cast<std::uint32_t>(1 + rng.below(4));
    config.caches.l2.mshrs = static_cast<std::uint32_t>(1 + rng.below(6));
    config.caches.l3.mshrs = static_cast<std::uint32_t>(1 + rng.below(8));
    config.caches.writebacks = static_cast<std::uint32_t>(1 + rng.below(3));
    config.caches.inclusive = rng.below(2) == 0;
    config.caches.l1.size = 1024;
    config.caches.l2.size = 4096;
    config.caches.l3 = {.size = 24 * 1024,
                        .ways = 4,
                        .mshrs = config.caches.l3.mshrs,
                        .slices = 3,
                        .policy = Policy::random};
    config.caches.tlb.entries = config.caches.tlb.huge_entries = config.caches.tlb.ways = 1;
    config.caches.tlb.second_entries = config.caches.tlb.second_ways = 2;
    config.caches.tlb.directory_entries = 1;
    config.caches.prefetch = {
        .adjacent = true, .stream = true, .streams = 4, .degree = 2, .distance = 6};
    const MockDevice::Config mock{.latency = memory,
                                  .slots = static_cast<std::uint32_t>(1 + rng.below(4))};
    const auto scripts = crowd(seed);
    std::uint64_t accesses = 0;
    for (const auto& script : scripts) {
      for (const Step& step : script) accesses += step.kind <= Kind::store_clwb ? 1 : 0;
    }
    const Played run(config, scripts, mock);
    EXPECT_EQ(run.table_reads(), run.counters.at("tlb.walks_to_memory")) << seed;
    EXPECT_GT(run.counters.at("tlb.walks"), 0u);
    EXPECT_GE(run.counters.at("loads") + run.counters.at("stores"), accesses) << seed;
    const Played again(config, scripts, mock);
    EXPECT_EQ(run.now, again.now);
    EXPECT_EQ(run.device.entries(), again.device.entries());
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core_fixture.h"
#include "random_program.h"

/// The window core's short way is the general one, only shorter: every time and every count of a
/// core that may use it and of one that may not.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::Code;
using testing::CoreMachine;
using testing::random_program;

/// Everything that can be told of a core, after each block that was fed and at the end.
struct Told {
  std::vector<std::pair<Tick, Tick>> times;
  std::array<std::uint64_t, 10> counts{};
  std::array<Fine, causes> stack{};
  std::uint64_t load_latency = 0;
  std::vector<Counters::Reading> caches;
  std::vector<MockDevice::Entry> memory;
};

Told play(const std::vector<Code>& program, const CoreConfig& core, bool short_way) {
  CoreMachine machine;
  machine.core = core;
  machine.core.short_way = short_way;
  machine.pages.huge = false;
  Cores& cores = machine.cores();
  cores.add();
  Told told;
  Rng rng(1);
  for (const Code& code : program) {
    if (rng.below(50) == 0) cores.come_back(0, machine.finish() + Tick(1000 * rng.below(20)));
    cores.feed(0, code.block, code.accesses);
    told.times.emplace_back(cores.clock(0), cores.retired(0));
  }
  told.times.emplace_back(machine.finish(), cores.retired(0));
  const CoreCounts& counts = machine.counts();
  told.counts = {counts.instructions, counts.loads,        counts.stores,   counts.forwarded,
                 counts.branches,     counts.mispredicted, counts.nt_lines, counts.nt_partial,
                 counts.flushes,      counts.fences};
  told.stack = counts.stack;
  told.load_latency = counts.load_latency.sum();
  Counters caches;
  machine.socket->caches().register_counters(caches);
  told.caches = caches.read();
  told.memory = machine.device.entries();
  return told;
}

void expect_same(const std::vector<Code>& program, const CoreConfig& core, std::uint64_t seed) {
  const Told shortened = play(program, core, true);
  const Told general = play(program, core, false);
  ASSERT_EQ(shortened.times, general.times) << seed;
  EXPECT_EQ(shortened.counts, general.counts) << seed;
  EXPECT_EQ(shortened.stack, general.stack) << seed;
  EXPECT_EQ(shortened.load_latency, general.load_latency) << seed;
  EXPECT_EQ(shortened.memory, general.memory) << seed;
  ASSERT_EQ(shortened.caches.size(), general.caches.size());
  for (std::size_t i = 0; i < general.caches.size(); ++i) {
    EXPECT_EQ(shortened.caches[i].value, general.caches[i].value) << general.caches[i].name << seed;
  }
}

/// A core with queues of any size, so that every one of them is full at times.
CoreConfig random_core(Rng& rng) {
  CoreConfig core = CoreMachine().core;
  core.width = static_cast<std::uint32_t>(1 + rng.below(6));
  core.rob = static_cast<std::uint32_t>(32 + rng.below(224));
  core.loads = static_cast<std::uint32_t>(4 + rng.below(72));
  core.stores = static_cast<std::uint32_t>(4 + rng.below(56));
  return core;
}

TEST(ShortWay, TheShortWayGivesTheTimesAndCountsOfTheGeneralWayForAnyProgram) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const CoreConfig core = seed % 3 == 0 ? CoreMachine().core : random_core(rng);
    // Few lines hit L1, and forward from the store queue; many do neither.
    const std::uint64_t lines = seed % 4 == 0 ? 600 : 8 << (seed % 4);
    expect_same(random_program(seed, 400, lines), core, seed);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

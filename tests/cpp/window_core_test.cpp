#include "sim/cpu/window_core.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core_fixture.h"

/// The window core against what its parameters say in closed form.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::alu;
using testing::Code;
using testing::CoreMachine;
using testing::instruction;
using testing::mov_load;
using testing::mov_store;
using Kind = InstructionKind;

/// Loads that each touch a line of their own, far apart; dependent on one another or not.
std::vector<Code> misses(std::uint64_t count, bool dependent) {
  std::vector<Code> codes(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    codes[i].block.pc = 0x1000;
    codes[i].add(dependent ? mov_load({.destinations = {1}, .address = {1}})
                           : mov_load({.destinations = {1}, .address = {2}}));
    codes[i].access((i + 16) * 4096, false);
  }
  return codes;
}

Tick time_of(CoreMachine& machine, const std::vector<Code>& codes) {
  if (machine.cores().size() == 0) {
    machine.cores().add();
    // The predictor learns that the block follows itself.
    Code same;
    same.block.pc = codes.front().block.pc;
    machine.repeat(same.add(alu({})), 64);
  }
  const Tick begin = machine.finish();
  for (const Code& code : codes) machine.cores().feed(0, code.block, code.accesses);
  return machine.finish() - begin;
}

TEST(WindowCore, AWindowCoreWaitsForEachLoadOfADependentChain) {
  CoreMachine machine;
  const double each = static_cast<double>(time_of(machine, misses(400, true)).ps()) / 400;
  EXPECT_NEAR(each, static_cast<double>(machine.miss().ps()), 0.02 * each);
}

TEST(WindowCore, AWindowCoreOverlapsIndependentMissesUpToTheMissRegisters) {
  for (const std::uint32_t registers : {1u, 4u, 10u, 16u}) {
    CoreMachine machine;
    machine.config.caches.l1.mshrs = registers;
    const double each = static_cast<double>(time_of(machine, misses(1600, false)).ps()) / 1600;
    const double expected = static_cast<double>(machine.miss().ps()) / registers;
    EXPECT_NEAR(each, expected, 0.02 * expected) << registers;
  }
}

TEST(WindowCore, AWindowCoreOverlapsOnlyMissesThatTheReorderBufferHolds) {
  // Each miss comes with 55 instructions: of 224, four are in the reorder buffer at once.
  CoreMachine machine;
  std::vector<Code> codes = misses(400, false);
  for (Code& code : codes) {
    for (int i = 0; i < 55; ++i) code.add(alu({.destinations = {3}}));
  }
  const double each = static_cast<double>(time_of(machine, codes).ps()) / 400;
  const double expected = static_cast<double>(machine.miss().ps()) / 4;
  EXPECT_NEAR(each, expected, 0.05 * expected);
}

TEST(WindowCore, AWindowCoreOverlapsOnlyAsManyLoadsAsItsQueueHolds) {
  CoreMachine machine;
  machine.core.loads = 6;
  const double each = static_cast<double>(time_of(machine, misses(1200, false)).ps()) / 1200;
  const double expected = static_cast<double>(machine.miss().ps()) / 6;
  EXPECT_NEAR(each, expected, 0.02 * expected);
}

TEST(WindowCore, TimeElsewhereIsNotTheProgramsTime) {
  CoreMachine machine;
  const Cores::Thread thread = machine.cores().add(Tick(5'000'000));
  Code code;
  code.add(alu({.destinations = {1}}));
  machine.repeat(code, 4000);
  const Tick first = machine.finish();
  machine.cores().leave(thread);
  machine.cores().come_back(thread, Tick(9'000'000));
  machine.repeat(code, 4000);
  const Tick second = machine.finish();
  Fine spent = 0;
  for (const Fine part : machine.counts().stack) spent += part;
  EXPECT_EQ(coarse(spent), first - Tick(5'000'000) + (second - Tick(9'000'000)));
}

TEST(WindowCore, HitsOnAChainTakeTheLatencyOfTheirLevel) {
  const struct {
    std::uint64_t lines;
    bool l2;
  } levels[] = {{32, false}, {160, true}};
  for (const auto& level : levels) {
    CoreMachine machine;
    std::vector<Code> codes(level.lines);
    for (std::uint64_t i = 0; i < level.lines; ++i) {
      codes[i].add(mov_load({.destinations = {1}, .address = {1}})).access(i * 64, false);
    }
    machine.cores().add();
    for (int i = 0; i < 3; ++i) time_of(machine, codes);
    const Tick each((time_of(machine, codes)).ps() / level.lines);
    const Tick expected =
        level.l2 ? machine.config.caches.l2.latency : machine.config.caches.l1.latency;
    EXPECT_NEAR(static_cast<double>(each.ps()), static_cast<double>(expected.ps()),
                0.02 * static_cast<double>(expected.ps()));
  }
}

TEST(WindowCore, WhicheverLoadOfALineIsAskedFirstBothWaitUntilItIsInL1) {
  for (const bool pointer_first : {true, false}) {
    CoreMachine machine;
    std::vector<Code> codes(160);
    for (std::uint64_t i = 0; i < codes.size(); ++i) {
      const int here = 1 + static_cast<int>(i % 2);
      const auto pointer = [&] {
        codes[i].add(mov_load({.destinations = {3 - here}, .address = {here}}));
        codes[i].access(i * 64, false);
      };
      if (pointer_first) pointer();
      codes[i].add(mov_load({.destinations = {3}, .address = {here}})).access(i * 64 + 8, false);
      if (!pointer_first) pointer();
    }
    machine.cores().add();
    for (int i = 0; i < 3; ++i) time_of(machine, codes);
    const double each = static_cast<double>(time_of(machine, codes).ps()) / 160;
    const auto expected = static_cast<double>(machine.config.caches.l2.latency.ps());
    EXPECT_NEAR(each, expected, 0.02 * expected) << pointer_first;
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

#include "sim/cpu/store_buffer.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core_fixture.h"

/// What leaves a core by its store queue, and what waits for it.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::alu;
using testing::Code;
using testing::CoreMachine;
using testing::instruction;
using testing::mov_load;
using testing::mov_store;
using Kind = InstructionKind;

std::uint64_t written(const CoreMachine& machine) {
  std::uint64_t lines = 0;
  for (const auto& entry : machine.device.entries()) lines += entry.op == Op::write ? 1 : 0;
  return lines;
}

Code nt_line(std::uint64_t line, std::uint16_t pieces = 2) {
  Code code;
  code.block.pc = 0x2000;
  const auto size = static_cast<std::uint16_t>(64 / pieces);
  for (std::uint16_t i = 0; i < pieces; ++i) {
    code.add(instruction(Kind::nt_store, 1, {.sources = {16}, .address = {1}}))
        .access(line * 64 + std::uint64_t{i} * size, true, size);
  }
  return code;
}

Code fence(Kind kind) { return Code{}.add(instruction(kind, 1)); }

TEST(StoreBuffer, AStoreBufferCombinesNonTemporalStoresToALine) {
  CoreMachine machine;
  machine.cores().add();
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Code code = nt_line(i, 4);
    machine.cores().feed(0, code.block, code.accesses);
  }
  machine.repeat(fence(Kind::full_fence), 1);
  machine.finish();
  EXPECT_EQ(written(machine), 100u);
  EXPECT_EQ(machine.counts().nt_lines, 100u);
  EXPECT_EQ(machine.counts().nt_partial, 0u);
}

TEST(StoreBuffer, AStoreBufferSendsHalfALineWhenAFenceComes) {
  CoreMachine machine;
  machine.cores().add();
  Code half;
  half.add(instruction(Kind::nt_store, 1)).access(0, true, 32);
  machine.repeat(half, 1);
  machine.finish();
  EXPECT_EQ(written(machine), 0u);
  machine.repeat(fence(Kind::full_fence), 1);
  machine.finish();
  EXPECT_EQ(written(machine), 1u);
  EXPECT_EQ(machine.counts().nt_partial, 1u);
}

TEST(StoreBuffer, AStoreBufferIsBoundByWriteCombiningBuffersForNonTemporalStores) {
  CoreMachine machine;
  machine.config.wc_buffers = 10;
  machine.cores().add();
  machine.repeat(nt_line(0), 64);
  machine.repeat(fence(Kind::full_fence), 1);
  const Tick begin = machine.finish();
  std::vector<Code> codes;
  for (std::uint64_t i = 0; i < 2000; ++i) codes.push_back(nt_line(i));
  for (const Code& code : codes) machine.cores().feed(0, code.block, code.accesses);
  machine.repeat(fence(Kind::full_fence), 1);
  const double each = static_cast<double>((machine.finish() - begin).ps()) / 2000;
  const Tick line = machine.config.nt_out + testing::memory_latency + machine.config.nt_back;
  const double expected = static_cast<double>(line.ps()) / 10;
  EXPECT_NEAR(each, expected, 0.02 * expected);
}

TEST(StoreBuffer, AStoreBufferIsBoundByMissRegistersForStoresThatMiss) {
  CoreMachine machine;
  machine.config.caches.l1.mshrs = 8;
  machine.cores().add();
  Code same;
  same.block.pc = 0x3000;
  machine.repeat(same.add(alu({})), 64);
  const Tick begin = machine.finish();
  std::vector<Code> codes(2000);
  for (std::uint64_t i = 0; i < codes.size(); ++i) {
    codes[i].block.pc = 0x3000;
    codes[i].add(mov_store({.sources = {1}, .address = {2}})).access((i + 64) * 4096, true);
  }
  for (const Code& code : codes) machine.cores().feed(0, code.block, code.accesses);
  machine.repeat(fence(Kind::full_fence), 1);
  const double each = static_cast<double>((machine.finish() - begin).ps()) / 2000;
  const double expected = static_cast<double>(machine.miss().ps()) / 8;
  EXPECT_NEAR(each, expected, 0.02 * expected);
  // The program feels it as a full store queue.
  const auto& stack = machine.counts().stack;
  EXPECT_GT(coarse(stack[static_cast<std::size_t>(Cause::store_queue)]),
            Tick((machine.finish() - begin).ps() / 2));
}

TEST(StoreBuffer, AStoreBufferHoldsAFullFenceUntilFlushedLinesAreAccepted) {
  CoreMachine machine;
  machine.cores().add();
  Code persist;
  persist.add(mov_store({.sources = {1}, .address = {2}})).access(128, true);
  persist.add(instruction(Kind::flush, 1)).access(128, false, 0);
  persist.add(instruction(Kind::full_fence, 1));
  machine.repeat(persist, 20);
  const Tick begin = machine.finish();
  machine.repeat(persist, 100);
  const double each = static_cast<double>((machine.finish() - begin).ps()) / 100;
  const Config& config = machine.config;
  // clwb throws the line out: it comes back from memory first.
  ASSERT_FALSE(config.clwb_keeps);
  const Tick expected = machine.miss() + config.flush_out + testing::memory_latency +
                        config.flush_back + config.mfence;
  EXPECT_NEAR(each, static_cast<double>(expected.ps()), 0.02 * static_cast<double>(expected.ps()));
  EXPECT_EQ(written(machine), 120u);
}

TEST(StoreBuffer, AStoreBufferKeepsTheLineOfAFlushIfTheCachesDo) {
  CoreMachine machine;
  machine.config.clwb_keeps = true;
  machine.cores().add();
  Code persist;
  persist.add(mov_store({.sources = {1}, .address = {2}})).access(128, true);
  persist.add(instruction(Kind::flush, 1)).access(128, false, 0);
  persist.add(instruction(Kind::full_fence, 1));
  machine.repeat(persist, 100);
  machine.finish();
  EXPECT_EQ(written(machine), 100u);
  EXPECT_EQ(machine.device.entries().size(), 101u);
}

TEST(StoreBuffer, AStoreBufferFlushesACleanLineForNothing) {
  CoreMachine machine;
  machine.cores().add();
  Code flush;
  flush.add(instruction(Kind::flush, 1)).access(4096, false, 0);
  machine.repeat(flush, 50);
  machine.finish();
  EXPECT_EQ(written(machine), 0u);
  EXPECT_EQ(machine.counts().flushes, 50u);
  EXPECT_EQ(machine.counts().flushes_dirty, 0u);
}

TEST(StoreBuffer, AStoreBufferLetsLoadsPassAStoreFence) {
  // They are done long before the fence is, which waits for the line to be accepted.
  CoreMachine machine;
  machine.cores().add();
  Code warm;
  warm.add(mov_load({.destinations = {1}, .address = {2}})).access(0, false);
  machine.repeat(warm, 10);
  const Tick begin = machine.finish();
  Code ordered = nt_line(1000);
  ordered.add(instruction(Kind::store_fence, 1));
  for (int i = 0; i < 8; ++i) {
    ordered.add(mov_load({.destinations = {1}, .address = {1}})).access(0, false);
  }
  machine.cores().feed(0, ordered.block, ordered.accesses);
  while (machine.counts().instructions < 20) machine.socket->step(Tick::never());
  EXPECT_LT(machine.cores().retired(0) - begin, machine.config.nt_out);
}

TEST(StoreBuffer, AStoreBufferForwardsToALoadOfTheSameBytes) {
  // A counter in memory: each round waits for the store before it, not for the cache.
  CoreMachine machine;
  Code count;
  count.add(mov_load({.destinations = {1}, .address = {2}})).access(512, false);
  count.add(alu({.sources = {1}, .destinations = {1}}));
  count.add(mov_store({.sources = {1}, .address = {2}})).access(512, true);
  // Load 5 (the forwarding), add 1, store 1.
  EXPECT_NEAR(machine.cycles_each(count), 7.0, 0.1);
  EXPECT_GT(machine.counts().forwarded, 4000u);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

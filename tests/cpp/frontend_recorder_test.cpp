// Accesses that QEMU splits become one again, and no others do.

#include <gtest/gtest.h>

#include <vector>

#include "frontend/qemu/counts.h"
#include "frontend/qemu/recorder.h"

namespace nearfar::frontend::qemu {
namespace test_file {

using sim::cpu::Access;

Translated block_of(std::size_t instructions, bool repeating = false, std::uint64_t last_pc = 0) {
  Translated out;
  for (std::size_t i = 0; i < instructions; ++i) out.block.instructions.push_back({});
  out.ends_repeating = repeating;
  out.block.pc = last_pc;
  out.last_pc = last_pc;
  return out;
}

struct Taken {
  std::vector<std::vector<Access>> runs;
  Counts counts;
};

Taken drain(Recorder& recorder) {
  Taken out;
  recorder.drain([&](const Recorder::Run& run, auto accesses) {
    out.runs.emplace_back(accesses.begin(), accesses.end());
    out.counts.add(run, accesses);
  });
  return out;
}

TEST(Recorder, TheRecorderMakesOneAccessOfAVectorStoreInPieces) {
  const Translated block = block_of(3);
  Recorder recorder;
  recorder.begin(block);
  for (unsigned i = 0; i < 4; ++i) recorder.access(0x1010 + 8 * i, 8, 1, true);
  const Taken taken = drain(recorder);
  ASSERT_EQ(taken.runs.size(), 1U);
  ASSERT_EQ(taken.runs[0].size(), 1U);
  EXPECT_EQ(taken.runs[0][0].address, 0x1010U);
  EXPECT_EQ(taken.runs[0][0].size, 32);
  EXPECT_EQ(taken.counts.stores, 1U);
  EXPECT_EQ(taken.counts.store_bytes, 32U);
  EXPECT_EQ(taken.counts.instructions, 3U);
}

TEST(Recorder, TheRecorderSeparatesAccessesThatAreNotAdjacent) {
  const Translated block = block_of(3);
  Recorder recorder;
  recorder.begin(block);
  recorder.access(0x1000, 8, 0, false);
  recorder.access(0x1008, 8, 1, false);  // another instruction
  recorder.access(0x1020, 8, 1, false);  // elsewhere: a gather
  recorder.access(0x1028, 8, 1, true);   // the other direction
  recorder.begin(block);
  recorder.access(0x1030, 8, 0, false);  // another execution
  const Taken taken = drain(recorder);
  ASSERT_EQ(taken.runs.size(), 2U);
  EXPECT_EQ(taken.runs[0].size(), 4U);
  EXPECT_EQ(taken.runs[1].size(), 1U);
}

TEST(Recorder, TheRecorderMovesALineAtATimeForARepeatedInstruction) {
  const Translated first = block_of(5, true, 0x40);
  const Translated step = block_of(1, true, 0x40);
  Recorder recorder;
  for (unsigned i = 0; i < 256; ++i) {
    recorder.begin(i == 0 ? first : step);
    const std::uint16_t instruction = i == 0 ? 4 : 0;
    recorder.access(0x1000 + i, 1, instruction, false);
    recorder.access(0x2020 + i, 1, instruction, true);
  }
  const Taken taken = drain(recorder);
  ASSERT_EQ(taken.runs.size(), 1U);
  EXPECT_EQ(taken.counts.instructions, 5U);
  EXPECT_EQ(taken.counts.loads, 4U);   // four whole lines
  EXPECT_EQ(taken.counts.stores, 5U);  // three whole, two halves
  EXPECT_EQ(taken.counts.load_bytes, 256U);
  EXPECT_EQ(taken.counts.store_bytes, 256U);
  for (const Access& access : taken.runs[0]) EXPECT_EQ(access.instruction, 4);
}

TEST(Recorder, TheRecorderFollowsARepeatedInstructionDownwardsAndThroughADrain) {
  const Translated step = block_of(1, true, 0x40);
  Recorder recorder;
  Counts counts;
  for (unsigned i = 0; i < 128; ++i) {
    recorder.begin(step);
    recorder.access(0x103f - i, 1, 0, true);
    if (i == 63) counts += drain(recorder).counts;
  }
  counts += drain(recorder).counts;
  EXPECT_EQ(counts.instructions, 1U);
  EXPECT_EQ(counts.stores, 2U);
  EXPECT_EQ(counts.store_bytes, 128U);
}

TEST(Recorder, TheRecorderCutsALongRepeatedInstructionIntoPieces) {
  const Translated step = block_of(1, true, 0x40);
  Recorder recorder;
  for (unsigned i = 0; i < 256 * 64; ++i) {
    recorder.begin(step);
    recorder.access(0x10000 + i, 1, 0, true);
  }
  const Taken taken = drain(recorder);
  EXPECT_EQ(taken.runs.size(), 2U);
  EXPECT_EQ(taken.counts.instructions, 1U);
  EXPECT_EQ(taken.counts.stores, 256U);
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu

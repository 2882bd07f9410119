#include "probe/kernels.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "probe/chain.h"
#include "probe/instructions.h"

namespace nearfar::probe {
namespace test_file {

constexpr std::uint64_t untouched = 0x5a5a5a5a5a5a5a5a;

/// Lines of memory filled with a pattern, so that every write shows.
class Lines {
 public:
  explicit Lines(std::uint64_t lines) : words_(lines * 8 + 8, untouched) {
    void* start = words_.data();
    std::size_t space = words_.size() * sizeof(std::uint64_t);
    base_ = static_cast<std::byte*>(std::align(line_bytes, lines * line_bytes, start, space));
  }
  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::uint64_t word(Bytes offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, base_ + offset, sizeof value);
    return value;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::byte* base_ = nullptr;
};

std::vector<Width> widths() {
  std::vector<Width> found{Width::sse2};
  if (Isa::host().avx2) found.push_back(Width::avx2);
  if (Isa::host().avx512f) found.push_back(Width::avx512);
  return found;
}

std::vector<Op> operations() {
  std::vector<Op> found;
  for (const char* name : {"load", "ntload", "load+clflushopt", "load+store", "store", "ntstore",
                           "store+clwb", "store+clflushopt"}) {
    try {
      found.push_back(parse_op(name, Isa::host()));
    } catch (const InputError&) {
      continue;  // this processor lacks it
    }
  }
  return found;
}

TEST(Chain, AChainIsOneCycleThroughAllBlocksWhateverTheSeed) {
  for (const std::uint64_t blocks : {1u, 2u, 3u, 64u, 1000u}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto next = random_cycle(blocks, seed);
      std::set<std::uint32_t> seen;
      std::uint32_t at = 0;
      do {
        seen.insert(at);
        at = next[at];
      } while (at != 0);
      ASSERT_EQ(seen.size(), blocks);
    }
  }
}

TEST(Chain, AChainIsTheSameForTheSameSeedOnly) {
  EXPECT_EQ(random_cycle(1000, 7), random_cycle(1000, 7));
  EXPECT_NE(random_cycle(1000, 7), random_cycle(1000, 8));
}

TEST(Chain, AChainLeadsThroughChosenOffsetsInTheirOrderAndBack) {
  const Lines memory(64);
  const std::vector<std::uint64_t> offsets{1024, 0, 64, 4000, 8};
  link(memory.base(), offsets);
  std::byte* at = memory.base() + offsets[0];
  for (std::size_t i = 1; i <= offsets.size(); ++i) {
    at = follow(at, 1);
    EXPECT_EQ(at, memory.base() + offsets[i % offsets.size()]);
  }
  EXPECT_EQ(follow(at, offsets.size() * 13), at);
  EXPECT_EQ(follow(at, 2), memory.base() + offsets[2]);
}

TEST(Chain, AChainThatIsChangedOnItsWayLeadsToTheSamePlaces) {
  const Lines memory(64);
  const std::vector<std::uint64_t> offsets{1024, 0, 64, 3968};
  link(memory.base(), offsets);
  std::byte* const first = memory.base() + offsets[0];
  EXPECT_EQ(follow_changing(first, 3 * offsets.size()), first);
  for (const std::uint64_t offset : offsets) {
    EXPECT_EQ(memory.word(offset + 8), untouched + 3);
    EXPECT_EQ(memory.word(offset + 16), untouched);
  }
}

/// A region of `blocks` blocks of two lines, three lines apart.
struct Region {
  explicit Region(std::uint64_t count) : lines(3 * count), next(random_cycle(count, 3)) {
    walk.blocks = {lines.base(), 2 * line_bytes, 3 * line_bytes};
    walk.next = next.data();
  }
  Lines lines;
  std::vector<std::uint32_t> next;
  Walk walk;
};

TEST(Walks, WalksFollowTheCycleWhateverTheOperationTheWidthAndTheTable) {
  constexpr std::uint64_t blocks = 100;
  for (const Op op : operations()) {
    for (const Width width : widths()) {
      for (const Successor successor : {Successor::lines, Successor::table}) {
        for (const Fence fence : {Fence::none, Fence::sfence, Fence::mfence, Fence::cpuid}) {
          Region region(blocks);
          region.walk.fence = fence;
          if (is_load(op)) link(region.walk.blocks, region.next);
          const WalkKernel kernel = walk_kernel(op, successor, width);
          std::uint64_t expected = 0;
          for (int i = 0; i < 17; ++i) expected = region.next[expected];
          EXPECT_EQ(kernel(region.walk, 0, 17), expected);
          EXPECT_EQ(kernel(region.walk, expected, blocks - 17), 0u);
        }
      }
    }
  }
}

TEST(Walks, WalksWithALoadAloneLeaveTheMemoryAsItWas) {
  for (const Op op : operations()) {
    if (!is_load(op) || op == Op::load_store) continue;
    for (const Width width : widths()) {
      const Region region(50);
      link(region.walk.blocks, region.next);
      const std::vector<std::byte> before(region.lines.base(),
                                          region.lines.base() + 150 * line_bytes);
      for (const Successor successor : {Successor::lines, Successor::table}) {
        walk_kernel(op, successor, width)(region.walk, 0, 50);
      }
      EXPECT_EQ(std::memcmp(before.data(), region.lines.base(), before.size()), 0);
    }
  }
}

TEST(Walks, WalksWithALoadAndAStoreCountUpOneWordOfEachLine) {
  for (const Successor successor : {Successor::lines, Successor::table}) {
    const Region region(50);
    link(region.walk.blocks, region.next);
    walk_kernel(Op::load_store, successor, Width::sse2)(region.walk, 0, 150);
    for (Bytes line = 0; line < 150; ++line) {
      EXPECT_EQ(region.lines.word(line * line_bytes + 8), untouched + (line % 3 < 2 ? 3 : 0));
      EXPECT_EQ(region.lines.word(line * line_bytes + 16), untouched);
    }
  }
}

TEST(Walks, WalksWithAStoreFillEveryWordOfEachBlockWithItsSuccessorAndNothingElse) {
  for (const Op op : operations()) {
    if (is_load(op)) continue;
    for (const Width width : widths()) {
      const Region region(50);
      walk_kernel(op, Successor::table, width)(region.walk, 0, 50);
      fence(Fence::mfence);
      for (std::uint64_t block = 0; block < 50; ++block) {
        const auto successor =
            reinterpret_cast<std::uint64_t>(region.walk.blocks.at(region.next[block]));
        for (Bytes at = 0; at < 3 * line_bytes; at += 8) {
          const std::uint64_t expected = at < 2 * line_bytes ? successor : untouched;
          ASSERT_EQ(region.lines.word(block * 3 * line_bytes + at), expected);
        }
      }
    }
  }
}

TEST(Walks, WalksCanReadBackWhatAStoreWalkHasWritten) {
  for (const Width width : widths()) {
    const Region region(50);
    walk_kernel(Op::nt_store, Successor::table, width)(region.walk, 0, 50);
    fence(Fence::mfence);
    const WalkKernel loads = walk_kernel(Op::load, Successor::lines, width);
    EXPECT_EQ(loads(region.walk, 0, 1), region.next[0]);
    EXPECT_EQ(loads(region.walk, 0, 50), 0u);
  }
}

TEST(Accesses, AccessesAtAStrideTouchEachPlaceInTurnAndWrapAround) {
  for (const Width width : widths()) {
    const Lines memory(16);
    const Accesses accesses{.base = memory.base(),
                            .area = 12 * line_bytes,
                            .access = 2 * line_bytes,
                            .stride = 4 * line_bytes,
                            .reads_percent = 0,
                            .fence_every = 0};
    AccessState state;
    const AccessKernel kernel = access_kernel(Op::nt_store, width);
    const auto touched = [&] {
      fence(Fence::mfence);
      std::vector<int> lines;
      for (int line = 0; line < 16; ++line) {
        if (memory.word(static_cast<Bytes>(line) * line_bytes) != untouched) lines.push_back(line);
      }
      return lines;
    };
    kernel(accesses, state, 2);
    EXPECT_EQ(touched(), (std::vector<int>{0, 1, 4, 5}));
    kernel(accesses, state, 2);
    EXPECT_EQ(touched(), (std::vector<int>{0, 1, 4, 5, 8, 9}));
    EXPECT_EQ(state.done, 4u);
    EXPECT_EQ(memory.word(0), 2u);  // the second call, begun after two accesses, came round
  }
}

TEST(Accesses, AccessesWithoutAGapTouchEveryLineAndWrapAround) {
  for (const Width width : widths()) {
    const Lines memory(16);
    const Accesses accesses{.base = memory.base(),
                            .area = 13 * line_bytes,
                            .access = 2 * line_bytes,
                            .stride = 2 * line_bytes,
                            .reads_percent = 0,
                            .fence_every = 0};
    AccessState state;
    const AccessKernel kernel = access_kernel(Op::store, width);
    kernel(accesses, state, 4);
    kernel(accesses, state,
           3);  // two up to the end of the area's whole accesses, one from its start
    EXPECT_EQ(state.done, 7u);
    for (Bytes line = 0; line < 16; ++line) {
      const std::uint64_t expected = line < 2 || (line >= 8 && line < 12) ? 4 : 0;
      EXPECT_EQ(memory.word(line * line_bytes), line < 12 ? expected : untouched) << line;
    }
  }
}

/// A line whose words all differ.
const std::byte* distinct_words() {
  struct alignas(line_bytes) Words {
    std::uint64_t at[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  };
  static const Words words;
  return reinterpret_cast<const std::byte*>(words.at);
}

TEST(Accesses, AccessesWriteTheGivenLineWhateverTheOperationAndTheWidth) {
  for (const Op op : operations()) {
    if (is_load(op) && op != Op::load_store) continue;
    for (const Width width : widths()) {
      for (const Bytes stride : {Bytes{2 * line_bytes}, Bytes{4 * line_bytes}}) {
        const Lines memory(16);
        const Accesses accesses{.base = memory.base(),
                                .area = 16 * line_bytes,
                                .access = 2 * line_bytes,
                                .stride = stride,
                                .reads_percent = 0,
                                .value = distinct_words()};
        AccessState state;
        access_kernel(op, width)(accesses, state, 3);
        fence(Fence::mfence);
        for (Bytes at = 0; at < 16 * line_bytes; at += 8) {
          const bool written = at % stride < 2 * line_bytes && at < 3 * stride;
          ASSERT_EQ(memory.word(at), written ? at / 8 % 8 + 1 : untouched) << at;
        }
      }
    }
  }
}

TEST(Filling, FillingCopiesTheLineToEveryLine) {
  for (const Width width : widths()) {
    const Lines memory(8);
    fill_with(memory.base(), 5 * line_bytes, distinct_words(), width);
    for (Bytes at = 0; at < 8 * line_bytes; at += 8) {
      ASSERT_EQ(memory.word(at), at < 5 * line_bytes ? at / 8 % 8 + 1 : untouched) << at;
    }
  }
}

TEST(Accesses, AccessesInRandomOrderStayInsideTheAreaAndReachAllOfIt) {
  const Lines memory(64);
  const Accesses accesses{.base = memory.base(),
                          .area = 62 * line_bytes,
                          .access = 2 * line_bytes,
                          .stride = 0,
                          .reads_percent = 0,
                          .fence_every = 256};
  AccessState state;
  state.random = 1;
  for (int call = 0; call < 10; ++call) access_kernel(Op::store, Width::sse2)(accesses, state, 100);
  for (Bytes line = 0; line < 64; ++line) {
    EXPECT_EQ(memory.word(line * line_bytes) == untouched, line >= 62) << line;
  }
}

TEST(Accesses, AccessesThatAreMixedWriteTheirShare) {
  constexpr int places = 4000;
  const Lines memory(places);
  const Accesses accesses{.base = memory.base(),
                          .area = places * line_bytes,
                          .access = line_bytes,
                          .stride = line_bytes,
                          .reads_percent = 70,
                          .fence_every = 0};
  AccessState state;
  access_kernel(Op::store, Width::sse2)(accesses, state, places);
  int written = 0;
  for (Bytes line = 0; line < places; ++line) {
    written += memory.word(line * line_bytes) != untouched ? 1 : 0;
  }
  EXPECT_NEAR(written, 0.3 * places, 0.04 * places);
}

TEST(Operations, OperationsAreRefusedByNameWhenTheProcessorLacksThem) {
  const Isa none;
  EXPECT_EQ(parse_op("load", none), Op::load);
  EXPECT_EQ(parse_op("ntstore", none), Op::nt_store);
  for (const auto& [name, instruction] : std::vector<std::pair<std::string, std::string>>{
           {"ntload", "movntdqa"}, {"store+clwb", "clwb"}, {"load+clflushopt", "clflushopt"}}) {
    try {
      (void)parse_op(name, none);
      FAIL() << name;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()),
                "op: this processor has no " + instruction + ", which " + name + " needs");
    }
  }
  EXPECT_THROW((void)parse_op("lode", Isa::host()), InputError);
  EXPECT_THROW((void)parse_fence("lfence"), InputError);
}

TEST(Operations, OperationsUseTheWidestVectorsOfTheProcessor) {
  EXPECT_EQ(Isa{}.width(), Width::sse2);
  EXPECT_EQ(Isa{.avx2 = true}.width(), Width::avx2);
  EXPECT_EQ((Isa{.avx2 = true, .avx512f = true}.width()), Width::avx512);
}

}  // namespace test_file
}  // namespace nearfar::probe

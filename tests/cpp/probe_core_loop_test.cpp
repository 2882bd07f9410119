#include "probe/core_loop.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace nearfar::probe {
namespace test_file {

constexpr Bytes area = Bytes{4} << 20;
constexpr std::uint64_t chunks = 3;

Timings played(const std::string& name, std::uint64_t count) {
  const Memory memory({.bytes = area});
  CoreLoopRequest request;
  request.name = name;
  request.count = count;
  request.chunks = chunks;
  request.chunk_ns = 1000;
  return core_loop(memory, request, [] {});
}

TEST(CoreLoop, EveryLoopTimesRoundsInAsManyChunksAsAreAskedFor) {
  for (const char* name : {"add_chain", "multiply_chain", "adds", "multiplies", "loads",
                           "steady_branches", "random_branches", "nops", "stores", "lines"}) {
    const Timings timings = played(name, 0);
    ASSERT_EQ(timings.threads.size(), 1U) << name;
    ASSERT_EQ(timings.threads[0].size(), chunks) << name;
    for (const Chunk& chunk : timings.threads[0]) EXPECT_GT(chunk.lines, 0U) << name;
  }
}

TEST(CoreLoop, AnyMultipleOfTheStepFitsBetweenTwoMisses) {
  for (std::uint64_t between = 0; between <= most_between; between += 10 * between_step) {
    EXPECT_EQ(played("nops", between).threads[0].size(), chunks) << between;
    EXPECT_EQ(played("stores", between).threads[0].size(), chunks) << between;
  }
}

TEST(CoreLoop, ChainsStayInTheirMemoryOnceTheyAreLaid) {
  const Memory memory({.bytes = area});
  CoreLoopRequest request;
  request.name = "chains";
  request.count = most_chains;
  request.chunks = chunks;
  request.chunk_ns = 1000;
  EXPECT_EQ(core_loop(memory, request, [] {}).threads[0].size(), chunks);
  request.linked = true;
  request.seed = 2;
  EXPECT_EQ(core_loop(memory, request, [] {}).threads[0].size(), chunks);
}

TEST(CoreLoop, ALoopThatThereIsNotIsRefused) {
  EXPECT_THROW(played("subtractions", 0), InputError);
  EXPECT_THROW(played("nops", between_step + 1), InputError);
  EXPECT_THROW(played("stores", most_between + between_step), InputError);
  EXPECT_THROW(played("chains", 0), InputError);
  EXPECT_THROW(played("chains", most_chains + 1), InputError);
}

}  // namespace test_file
}  // namespace nearfar::probe

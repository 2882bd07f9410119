#include "probe/loaded.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "probe/memory.h"

namespace nearfar::probe {
namespace test_file {

constexpr Bytes area = 1 << 20;
constexpr double clock_slack = 1.01;  // how far two clocks may be from each other

/// A processor for the reader and one for each of `generators`, shared where there are too few.
std::vector<int> processors(std::size_t generators) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> usable;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) usable.push_back(cpu);
  }
  std::vector<int> cpus;
  for (std::size_t i = 0; i <= generators; ++i) cpus.push_back(usable[i % usable.size()]);
  return cpus;
}

LoadedRequest request_of(std::size_t generators) {
  LoadedRequest request;
  request.area = area;
  request.reads = 20'000;
  request.cpus = processors(generators);
  return request;
}

LoadedTimings measured(const LoadedRequest& request) {
  const Memory memory({.bytes = request.area * request.cpus.size()});
  return loaded(memory, request, {});
}

std::uint64_t reads_of(const LoadedTimings& timings) {
  std::uint64_t reads = 0;
  for (const Chunk& chunk : timings.reader) reads += chunk.lines;
  return reads;
}

/// How often a generator has stored to its area: each store writes its number.
std::uint64_t stores_in(const Memory& memory, std::size_t thread) {
  std::uint64_t last = 0;
  for (Bytes at = 0; at < area; at += line_bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.base() + thread * area + at, sizeof word);
    last = std::max(last, word);
  }
  return last;
}

TEST(ALoadedReader, EveryReadIsTimedOnceAndCountsAsNoLoadOfTheGenerators) {
  LoadedRequest request = request_of(1);
  request.stores = request.accesses = 1;
  const LoadedTimings timings = measured(request);
  EXPECT_EQ(reads_of(timings), request.reads);
  EXPECT_EQ(timings.loads_per_ns, 0);
  EXPECT_GT(timings.stores_per_ns, 0);
}

TEST(ALoadedReader, AReaderWithoutGeneratorsLoadsTheMemoryAlone) {
  const LoadedTimings timings = measured(request_of(0));
  EXPECT_EQ(reads_of(timings), 20'000u);
  EXPECT_EQ(timings.loads_per_ns, 0);
  EXPECT_EQ(timings.stores_per_ns, 0);
}

TEST(AGenerator, AGeneratorStoresItsShareOfTheAccesses) {
  for (const auto& [stores, accesses] : {std::pair{0u, 1u}, {1u, 4u}, {1u, 2u}, {1u, 1u}}) {
    LoadedRequest request = request_of(1);
    request.stores = stores;
    request.accesses = accesses;
    const LoadedTimings timings = measured(request);
    const double all = timings.loads_per_ns + timings.stores_per_ns;
    EXPECT_NEAR(timings.stores_per_ns / all, static_cast<double>(stores) / accesses, 1e-9);
  }
}

/// What generators that only store did, and within what their rate has to lie.
struct Paced {
  double rate = 0;
  double least = 0;  ///< had each of them run as long as the whole call
  double most = 0;   ///< had each of them run no longer than its pauses, but for the first two
  std::uint64_t fewest_bursts = 0;
};

Paced paced(std::size_t generators, double pause_ns) {
  LoadedRequest request = request_of(generators);
  request.stores = request.accesses = 1;
  request.pause_ns = pause_ns;
  const auto burst = static_cast<std::uint64_t>(std::ceil(100 / pause_ns));
  const Memory memory({.bytes = request.area * request.cpus.size()});
  const auto start = std::chrono::steady_clock::now();
  Paced found{.rate = loaded(memory, request, {}).stores_per_ns, .fewest_bursts = ~0ull};
  const std::chrono::duration<double, std::nano> whole = std::chrono::steady_clock::now() - start;
  for (std::size_t thread = 1; thread <= generators; ++thread) {
    const std::uint64_t bursts = stores_in(memory, thread) / burst;
    const auto stores = static_cast<double>(bursts * burst);
    const double pauses = static_cast<double>(bursts) - 2;
    found.least += stores / whole.count();
    found.most += stores / (pauses * static_cast<double>(burst) * pause_ns);
    found.fewest_bursts = std::min(found.fewest_bursts, bursts);
  }
  return found;
}

/// The same, of a run in which every generator came to run.
Paced really_paced(std::size_t generators, double pause_ns) {
  Paced found = paced(generators, pause_ns);
  while (found.fewest_bursts < 10) found = paced(generators, pause_ns);
  return found;
}

TEST(AGenerator, AGeneratorAccessesNoMoreOftenThanItsPauseAllows) {
  for (const double pause_ns : {20.0, 300.0, 2000.0}) {
    const Paced found = really_paced(1, pause_ns);
    EXPECT_LE(found.rate, clock_slack * found.most) << pause_ns;
  }
}

TEST(Generators, TheRateIsThatOfAllGeneratorsTogether) {
  const Paced found = really_paced(2, 300);
  EXPECT_GE(clock_slack * found.rate, found.least);
  EXPECT_LE(found.rate, clock_slack * found.most);
}

TEST(Generators, GeneratorsStoreToTheirOwnAreasAlone) {
  LoadedRequest request = request_of(1);
  request.op = Op::nt_store;
  request.stores = request.accesses = 1;
  const Memory memory({.bytes = 3 * area});
  (void)loaded(memory, request, {});
  EXPECT_GT(stores_in(memory, 1), 0u);
  EXPECT_EQ(stores_in(memory, 2), 0u);
}

TEST(ALoadedRequest, ARequestThatCannotBeMeasuredIsRefused) {
  const Memory memory({.bytes = 2 * area});
  LoadedRequest request = request_of(1);
  request.area = 256;
  EXPECT_THROW((void)loaded(memory, request, {}), InputError);
  request = request_of(1);
  request.accesses = 0;
  EXPECT_THROW((void)loaded(memory, request, {}), InputError);
  request = request_of(1);
  request.op = Op::load;
  EXPECT_THROW((void)loaded(memory, request, {}), InputError);
  request = request_of(2);
  EXPECT_THROW((void)loaded(memory, request, {}), InputError);
}

}  // namespace test_file
}  // namespace nearfar::probe

#include "probe/reader.h"

#include <algorithm>

#include "probe/clock.h"
#include "probe/kernels.h"

namespace nearfar::probe {
namespace {

constexpr std::uint64_t chunks_a_reader = 32;

}  // namespace

std::vector<Chunk> read_singly(std::byte* base, std::uint64_t reads, const Member& member) {
  const Clock& clock = Clock::host();
  ChunkSize size(reads / chunks_a_reader);
  std::vector<Chunk> chunks;
  std::byte* at = base;
  for (std::uint64_t done = 0; done < reads && member.carry_on();) {
    const std::uint64_t steps = std::min(size.units(), reads - done);
    const std::uint64_t start = start_cycles();
    at = follow(at, steps);
    const double ns = clock.ns(stop_cycles() - start);
    size.learn(ns, steps);
    chunks.push_back({ns, steps, done});
    done += steps;
  }
  return chunks;
}

}  // namespace nearfar::probe

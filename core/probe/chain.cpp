#include "probe/chain.h"

#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/rng.h"

namespace nearfar::probe {
namespace {

void write_address(std::byte* at, const std::byte* successor) {
  const auto address = reinterpret_cast<std::uintptr_t>(successor);
  std::memcpy(at, &address, sizeof address);
}

}  // namespace

std::vector<std::uint32_t> random_cycle(std::uint64_t blocks, std::uint64_t seed) {
  if (blocks > std::uint64_t{1} << 32) {
    throw InputError("region: " + std::to_string(blocks) +
                     " blocks are more than a chain holds; make the blocks larger");
  }
  std::vector<std::uint32_t> next(blocks);
  std::iota(next.begin(), next.end(), 0u);
  Rng rng(seed);
  for (std::uint64_t i = blocks; i-- > 1;) std::swap(next[i], next[rng.below(i)]);
  return next;
}

void link(const Blocks& blocks, std::span<const std::uint32_t> next) {
  for (std::uint64_t i = 0; i < next.size(); ++i) {
    write_address(blocks.at(i) + blocks.block - line_bytes, blocks.at(next[i]));
  }
}

void link(std::byte* base, std::span<const std::uint64_t> offsets) {
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    write_address(base + offsets[i], base + offsets[(i + 1) % offsets.size()]);
  }
}

}  // namespace nearfar::probe

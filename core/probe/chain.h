#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace nearfar::probe {

/// The block that follows each block of a random cycle through all of them: Sattolo's
/// algorithm ("An algorithm to generate a random cyclic permutation", 1986), every cycle
/// equally likely.
[[nodiscard]] std::vector<std::uint32_t> random_cycle(std::uint64_t blocks, std::uint64_t seed);

/// Blocks of a region: each `block` bytes long, one beginning every `stride` bytes.
struct Blocks {
  std::byte* base = nullptr;
  Bytes block = line_bytes;
  Bytes stride = line_bytes;

  [[nodiscard]] std::byte* at(std::uint64_t index) const { return base + index * stride; }
};

/// Writes into the last line of each block where the next block begins, so that a walk needs
/// nothing but the memory it measures.
void link(const Blocks& blocks, std::span<const std::uint32_t> next);

/// Writes at each offset from `base` the address of the one listed after it; the last leads
/// back to the first.
void link(std::byte* base, std::span<const std::uint64_t> offsets);

}  // namespace nearfar::probe

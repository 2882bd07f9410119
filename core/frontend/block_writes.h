#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/address.h"

namespace nearfar::frontend {

/// How often each block of 256 B was written, a non-volatile DIMM's unit of wear: 4 B for each
/// block of the 2 MiB that were ever written.
class BlockWrites {
 public:
  static constexpr Bytes block = 256;

  void add(Address physical) {
    const std::uint64_t chunk = physical.value() / chunk_bytes;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Chunk>();
    ++(*chunks_[chunk])[physical.value() % chunk_bytes / block];
  }
  void forget() { chunks_.clear(); }

  /// Of the blocks that were written, in order of their addresses.
  [[nodiscard]] std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> found;
    for (const auto& chunk : chunks_) {
      if (!chunk) continue;
      for (const std::uint32_t count : *chunk) {
        if (count != 0) found.push_back(count);
      }
    }
    return found;
  }

 private:
  static constexpr Bytes chunk_bytes = Bytes{2} << 20;
  using Chunk = std::array<std::uint32_t, chunk_bytes / block>;
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

}  // namespace nearfar::frontend

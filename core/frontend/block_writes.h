#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/address.h"
#include "frontend/tally.h"

namespace nearfar::frontend {

/// How often each block of 256 B was written, a non-volatile DIMM's unit of wear: a byte for each
/// block of the 2 MiB that were ever written, or four where one was written often.
class BlockWrites {
 public:
  static constexpr Bytes block = 256;

  void add(Address physical) {
    const std::uint64_t chunk = physical.value() / chunk_bytes;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Tally>(blocks);
    chunks_[chunk]->add(physical.value() % chunk_bytes / block);
  }
  void forget() { chunks_.clear(); }

  /// How many blocks were written so often, for all that were.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> counts() const {
    std::map<std::uint64_t, std::uint64_t> found;
    for (const auto& chunk : chunks_) {
      for (std::size_t i = 0; chunk && i < blocks; ++i) {
        if ((*chunk)[i] != 0) ++found[(*chunk)[i]];
      }
    }
    return found;
  }

 private:
  static constexpr Bytes chunk_bytes = Bytes{2} << 20;
  static constexpr std::size_t blocks = chunk_bytes / block;
  std::vector<std::unique_ptr<Tally>> chunks_;
};

}  // namespace nearfar::frontend

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/address.h"
#include "frontend/tally.h"

namespace nearfar::frontend {

/// How often each line of 64 B was written, and each block of 256 B, a non-volatile DIMM's unit of
/// wear: a byte for each line of the 2 MiB that were ever written, or four where one was written
/// often.
class LineWrites {
 public:
  static constexpr Bytes block = 256;

  void add(Address physical) {
    const std::uint64_t chunk = physical.value() / chunk_bytes;
    if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
    if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Tally>(lines);
    chunks_[chunk]->add(physical.value() % chunk_bytes / line_bytes);
  }
  void forget() { chunks_.clear(); }

  /// How many blocks were written so often, for all that were.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> block_counts() const {
    std::map<std::uint64_t, std::uint64_t> found;
    for (const auto& chunk : chunks_) {
      for (std::size_t first = 0; chunk && first < lines; first += lines_per_block) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < lines_per_block; ++i) sum += (*chunk)[first + i];
        if (sum != 0) ++found[sum];
      }
    }
    return found;
  }

  struct Line {
    Address physical;
    std::uint64_t writes = 0;
  };
  struct Hottest {
    std::vector<Line> lines;  ///< the most written first; of equals the lower address
    std::uint64_t count = 0;  ///< of all lines that were written
    std::uint64_t writes = 0;  ///< to all of them
  };
  [[nodiscard]] Hottest hottest(std::size_t most) const {
    Hottest found;
    std::vector<Line>& best = found.lines;
    const auto before = [](const Line& a, const Line& b) {
      return a.writes != b.writes ? a.writes > b.writes : a.physical < b.physical;
    };
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      for (std::size_t i = 0; chunks_[chunk] && i < lines; ++i) {
        const std::uint64_t writes = (*chunks_[chunk])[i];
        if (writes == 0) continue;
        ++found.count;
        found.writes += writes;
        if (best.size() == most && writes <= best.back().writes) continue;
        const Line line{.physical = Address(chunk * chunk_bytes + i * line_bytes),
                        .writes = writes};
        best.insert(std::ranges::upper_bound(best, line, before), line);
        if (best.size() > most) best.pop_back();
      }
    }
    return found;
  }

 private:
  static constexpr Bytes chunk_bytes = Bytes{2} << 20;
  static constexpr std::size_t lines = chunk_bytes / line_bytes;
  static constexpr std::size_t lines_per_block = block / line_bytes;
  std::vector<std::unique_ptr<Tally>> chunks_;
};

}  // namespace nearfar::frontend

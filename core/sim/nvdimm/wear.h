#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/nvdimm/config.h"

namespace nearfar::sim::nvdimm {

/// A sparse array of 32-bit numbers, all zero at first: memory for a neighbourhood of 4,096
/// is taken when one of it is first set.
class SparseArray {
 public:
  explicit SparseArray(std::uint64_t size) : chunks_(size / chunk_size + 1) {}

  [[nodiscard]] std::uint32_t get(std::uint64_t index) const {
    const auto& chunk = chunks_[index / chunk_size];
    return chunk ? chunk[index % chunk_size] : 0;
  }
  std::uint32_t& at(std::uint64_t index) {
    auto& chunk = chunks_[index / chunk_size];
    if (!chunk) chunk = std::make_unique<std::uint32_t[]>(chunk_size);
    return chunk[index % chunk_size];
  }

 private:
  static constexpr std::uint64_t chunk_size = 4096;
  std::vector<std::unique_ptr<std::uint32_t[]>> chunks_;
};

/// Wear levelling: which media block holds which block of the DIMM's address space, how
/// often each is written, and when it moves.
///
/// A block that has taken its share of writes moves to the free block that has waited
/// longest, and leaves its own place free: the map, free blocks included, stays a
/// permutation. How many writes a move takes varies (13,375 to 18,721 between the stalls of
/// the LENS overwrite series), so each threshold is drawn anew from writes * (1 +- spread),
/// and so is where a block's count stands at the start.
class WearLeveler {
 public:
  WearLeveler(const WearConfig& config, Bytes capacity, std::uint64_t seed);

  /// The media address of a device address.
  [[nodiscard]] Address translate(Address device) const {
    const std::uint64_t block = device.value() / config_.block;
    return Address(place_of(block) * config_.block + device.value() % config_.block);
  }

  /// Counts one media write to the block of `device`; true when the block has to move.
  [[nodiscard]] bool count_write(Address device);

  struct Move {
    std::uint64_t block;  ///< of the device's address space
    std::uint64_t from;   ///< media block
    std::uint64_t to;     ///< media block
  };
  /// Moves the block of `device`; no move (from == to) when there is no free block.
  Move move(Address device);

  [[nodiscard]] std::uint64_t media_blocks() const { return blocks_ + config_.spares; }
  [[nodiscard]] std::uint64_t place_of(std::uint64_t block) const {
    const std::uint32_t moved = moved_to_.get(block);
    return moved == 0 ? block : moved - 1;
  }

 private:
  [[nodiscard]] std::uint32_t threshold(std::uint64_t block, std::uint64_t epoch) const;

  WearConfig config_;
  std::uint64_t blocks_;
  std::uint64_t seed_;
  std::uint64_t moves_ = 0;
  SparseArray writes_left_;  ///< until the next move; 0: not drawn yet
  SparseArray moved_to_;     ///< media block + 1; 0: where it began
  std::deque<std::uint64_t> free_;
};

}  // namespace nearfar::sim::nvdimm

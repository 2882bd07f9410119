#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/counters.h"
#include "base/slab.h"
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

  void state(Archive& archive) {
    for (std::uint64_t i = 0; i < chunks_.size(); ++i) {
      bool used = chunks_[i] != nullptr;
      archive(used);
      if (!used) {
        chunks_[i] = nullptr;
        continue;
      }
      for (std::uint64_t at = 0; at < chunk_size; ++at) archive(this->at(i * chunk_size + at));
    }
  }

 private:
  static constexpr std::uint64_t chunk_size = 4096;
  std::vector<std::unique_ptr<std::uint32_t[]>> chunks_;
};

/// Wear levelling: which media block holds which block of the DIMM's address space, how
/// often each is written, when it moves, and which accesses wait until it has.
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

  /// An access that waits for a block that moves, as the DIMM numbers it.
  using Waiter = std::uint32_t;
  struct Migration {
    std::uint32_t number;  ///< until it is over
    std::uint64_t block;   ///< of the device's address space
    Address from, to;      ///< on the media
  };

  /// Counts one media write to the block of `device`, which may make the block move. Its new place
  /// is the one that translate() gives from now on. A block does not move while it moves, nor where
  /// there is no free block.
  [[nodiscard]] std::optional<Migration> count_write(Address device);
  /// Has an access wait if the block of `device` moves: whether it does.
  [[nodiscard]] bool waits(Address device, Waiter waiter);
  /// The migration is over: what waited for it, in order.
  [[nodiscard]] std::vector<Waiter> finish(std::uint32_t migration);

  void register_counters(Counters& counters, const std::string& prefix) const {
    counters.add(prefix + "migrations", migrations_begun_);
  }

  [[nodiscard]] std::uint64_t media_blocks() const { return blocks_ + config_.spares; }
  [[nodiscard]] std::uint64_t place_of(std::uint64_t block) const {
    const std::uint32_t moved = moved_to_.get(block);
    return moved == 0 ? block : moved - 1;
  }

  void state(Archive& archive) {
    archive(moves_, writes_left_, moved_to_, free_, migrations_, moving_, migrations_begun_);
  }

 private:
  struct Moving {
    std::uint64_t block = 0;
    std::vector<Waiter> waiting;

    void state(Archive& archive) { archive(block, waiting); }
  };

  [[nodiscard]] std::uint32_t threshold(std::uint64_t block, std::uint64_t epoch) const;
  [[nodiscard]] bool has_to_move(std::uint64_t block);
  [[nodiscard]] std::optional<Migration> begin(std::uint64_t block);

  WearConfig config_;
  std::uint64_t blocks_;
  std::uint64_t seed_;
  std::uint64_t moves_ = 0;
  SparseArray writes_left_;  ///< until the next move; 0: not drawn yet
  SparseArray moved_to_;  ///< media block + 1; 0: where it began
  std::deque<std::uint64_t> free_;
  Slab<Moving> migrations_;
  std::vector<std::uint32_t> moving_;  ///< numbers of migrations, in the order of their beginnings
  std::uint64_t migrations_begun_ = 0;
};

}  // namespace nearfar::sim::nvdimm

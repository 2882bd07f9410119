#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/rng.h"

namespace nearfar::sim::nvdimm {

enum class Replacement : std::uint8_t { fifo, lru, random };

/// The directory of a buffer: which block lies in which slot, and which slot goes next.
///
/// `entries` slots in sets of `ways`; block b belongs to set b mod sets. Every operation is
/// O(1) whatever the size: a hash table finds a block's slot, and a list per set keeps the
/// slots in order of age (FIFO) or of use (LRU). A pinned slot is never replaced: its block
/// is on the way in or still being written.
class BlockTable {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot none = ~Slot{0};

  /// `ways` divides `entries`; `ways` == `entries` is fully associative.
  BlockTable(std::uint32_t entries, std::uint32_t ways, Replacement policy, std::uint64_t seed);

  [[nodiscard]] std::uint32_t entries() const { return static_cast<std::uint32_t>(slots_.size()); }

  /// The slot that holds `block`, or none.
  [[nodiscard]] Slot find(std::uint64_t block) const {
    for (std::uint32_t at = home(block);; at = (at + 1) & mask_) {
      const Slot slot = index_[at];
      if (slot == none || slots_[slot].block == block) return slot;
    }
  }

  /// Says that a hit used `slot`.
  void touch(Slot slot) {
    if (policy_ == Replacement::lru) move_to_newest(slot);
  }

  /// Puts `block`, which must not be present, into the slot whose turn it is and returns
  /// that slot; none when every slot of the set is pinned.
  Slot insert(std::uint64_t block);

  /// Whether the last insert threw a block out, and which.
  [[nodiscard]] bool evicted() const { return evicted_ != empty; }
  [[nodiscard]] std::uint64_t evicted_block() const { return evicted_; }

  /// Whether insert(block) would find a slot.
  [[nodiscard]] bool has_room(std::uint64_t block) const;

  /// Forgets the block in `slot`, which is not pinned; the slot is the next of its set to be
  /// taken.
  void erase(Slot slot);

  void pin(Slot slot) { ++slots_[slot].pins; }
  void unpin(Slot slot) { --slots_[slot].pins; }
  [[nodiscard]] bool pinned(Slot slot) const { return slots_[slot].pins != 0; }
  [[nodiscard]] std::uint64_t block(Slot slot) const { return slots_[slot].block; }

  void state(Archive& archive) { archive(slots_, sets_, index_, evicted_, rng_); }

 private:
  static constexpr std::uint64_t empty = ~std::uint64_t{0};

  struct Entry {
    std::uint64_t block = empty;
    Slot older = none;
    Slot newer = none;
    std::uint32_t pins = 0;

    void state(Archive& archive) { archive(block, older, newer, pins); }
  };
  struct Set {
    Slot oldest = none;
    Slot newest = none;
  };

  [[nodiscard]] std::uint32_t home(std::uint64_t block) const {
    return static_cast<std::uint32_t>((block * 0x9e3779b97f4a7c15u) >> shift_);
  }
  [[nodiscard]] std::uint32_t set_of(std::uint64_t block) const {
    return static_cast<std::uint32_t>(block % sets_.size());
  }
  [[nodiscard]] Slot oldest_unpinned(const Set& set) const;
  [[nodiscard]] Slot victim(const Set& set, std::uint32_t set_number);
  void move_to_newest(Slot slot);
  void index_insert(Slot slot);
  void index_erase(Slot slot);

  std::vector<Entry> slots_;
  std::vector<Set> sets_;
  std::vector<Slot> index_;  ///< open addressing, linear probing, at most a quarter full
  std::uint32_t ways_;
  std::uint32_t mask_ = 0;
  std::uint32_t shift_ = 0;
  Replacement policy_;
  std::uint64_t evicted_ = empty;
  Rng rng_;
};

}  // namespace nearfar::sim::nvdimm

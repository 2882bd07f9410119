#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/archive.h"
#include "base/counters.h"
#include "base/tick.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/config.h"

namespace nearfar::sim::nvdimm {

/// The second of three buffer levels: data of larger entries, behind the first level and before
/// translation and media.
///
/// An entry comes and goes as one, but its sectors (what one media access brings of it) arrive one
/// by one. First-level sectors that want one which is on its way wait here. The buffer is
/// inclusive: while a first-level entry is in the first level its home is here, so throwing a block
/// out of this one throws its parts out of the first.
class MiddleBuffer {
 public:
  using Slot = BlockTable::Slot;
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};

  struct Sector {
    Tick complete = Tick::never();  ///< when it is here, once that is known
    bool asked = false;  ///< it is on its way
    Index first_waiting = none;  ///< first-level sectors, in order
    Index last_waiting = none;

    void state(Archive& archive) { archive(complete, asked, first_waiting, last_waiting); }
    [[nodiscard]] bool absent() const { return complete.is_never() && !asked; }
  };

  /// `block` is what a media access brings; `waiters` bounds the first-level sectors.
  MiddleBuffer(const BufferConfig& config, Bytes block, Index waiters, std::uint64_t seed);

  [[nodiscard]] Tick latency() const { return latency_; }
  [[nodiscard]] Slot find(Address at) const { return directory_.find(at.block(entry_)); }
  void touch(Slot slot) { directory_.touch(slot); }
  void pin(Slot slot) { directory_.pin(slot); }
  void unpin(Slot slot) { directory_.unpin(slot); }

  [[nodiscard]] bool has_room(Address at) const { return directory_.has_room(at.block(entry_)); }
  /// Takes a slot, all its sectors absent, for the entry of `at`. Precondition: has_room().
  Slot insert(Address at);
  /// Whether the last insert threw an entry out, and where that begins.
  [[nodiscard]] bool evicted() const { return directory_.evicted(); }
  [[nodiscard]] Address evicted_entry() const {
    return Address(directory_.evicted_block() * entry_);
  }
  [[nodiscard]] Bytes entry() const { return entry_; }

  [[nodiscard]] Index sectors_per_entry() const { return sectors_per_entry_; }
  [[nodiscard]] Bytes sector_bytes() const { return entry_ / sectors_per_entry_; }
  [[nodiscard]] Index sector_of(Slot slot, Address at) const {
    return slot * sectors_per_entry_ +
           static_cast<Index>(at.block(sector_bytes()) % sectors_per_entry_);
  }
  [[nodiscard]] Slot slot_of(Index sector) const { return sector / sectors_per_entry_; }
  [[nodiscard]] Sector& operator[](Index sector) { return sectors_[sector]; }

  /// A first-level sector wants one that is on its way.
  void wait(Index sector, Index waiter);
  [[nodiscard]] Index next_waiting(Index waiter) const { return next_waiting_[waiter]; }

  void register_counters(Counters& counters, const std::string& prefix) const;

  void state(Archive& archive) { archive(hits, misses, directory_, sectors_, next_waiting_); }

  std::uint64_t hits = 0;
  std::uint64_t misses = 0;

 private:
  BlockTable directory_;
  Bytes entry_;
  Tick latency_;
  Index sectors_per_entry_;
  std::vector<Sector> sectors_;
  std::vector<Index> next_waiting_;  ///< by first-level sector
};

}  // namespace nearfar::sim::nvdimm

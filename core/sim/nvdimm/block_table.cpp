#include "sim/nvdimm/block_table.h"

#include <bit>

namespace nearfar::sim::nvdimm {

BlockTable::BlockTable(std::uint32_t entries, std::uint32_t ways, Replacement policy,
                       std::uint64_t seed)
    : slots_(entries), sets_(entries / ways), ways_(ways), policy_(policy), rng_(seed) {
  const std::uint32_t places = std::bit_ceil(4 * entries);
  index_.assign(places, none);
  mask_ = places - 1;
  shift_ = 64 - static_cast<std::uint32_t>(std::countr_zero(places));
  for (Slot slot = 0; slot < entries; ++slot) {
    Set& set = sets_[slot / ways];
    slots_[slot].older = set.newest;
    if (set.newest == none) {
      set.oldest = slot;
    } else {
      slots_[set.newest].newer = slot;
    }
    set.newest = slot;
  }
}

BlockTable::Slot BlockTable::insert(std::uint64_t block) {
  const std::uint32_t set_number = set_of(block);
  const Slot slot = victim(sets_[set_number], set_number);
  if (slot == none) return none;
  evicted_ = slots_[slot].block;
  if (evicted()) index_erase(slot);
  slots_[slot].block = block;
  index_insert(slot);
  move_to_newest(slot);
  return slot;
}

bool BlockTable::has_room(std::uint64_t block) const {
  return oldest_unpinned(sets_[set_of(block)]) != none;
}

void BlockTable::erase(Slot slot) {
  index_erase(slot);
  Entry& entry = slots_[slot];
  entry.block = empty;
  Set& set = sets_[slot / ways_];
  if (set.oldest == slot) return;
  (entry.newer == none ? set.newest : slots_[entry.newer].older) = entry.older;
  slots_[entry.older].newer = entry.newer;
  entry.older = none;
  entry.newer = set.oldest;
  slots_[set.oldest].older = slot;
  set.oldest = slot;
}

BlockTable::Slot BlockTable::oldest_unpinned(const Set& set) const {
  Slot slot = set.oldest;
  while (slot != none && pinned(slot)) slot = slots_[slot].newer;
  return slot;
}

BlockTable::Slot BlockTable::victim(const Set& set, std::uint32_t set_number) {
  // Slots never used are the oldest ones, so every policy fills the set first.
  if (policy_ == Replacement::random && slots_[set.oldest].block != empty) {
    const auto first = static_cast<std::uint32_t>(rng_.below(ways_));
    for (std::uint32_t i = 0; i < ways_; ++i) {
      const Slot slot = set_number * ways_ + (first + i) % ways_;
      if (!pinned(slot)) return slot;
    }
    return none;
  }
  return oldest_unpinned(set);
}

void BlockTable::move_to_newest(Slot slot) {
  Set& set = sets_[slot / ways_];
  if (set.newest == slot) return;
  Entry& entry = slots_[slot];
  if (entry.older == none) {
    set.oldest = entry.newer;
  } else {
    slots_[entry.older].newer = entry.newer;
  }
  slots_[entry.newer].older = entry.older;
  entry.older = set.newest;
  entry.newer = none;
  slots_[set.newest].newer = slot;
  set.newest = slot;
}

void BlockTable::index_insert(Slot slot) {
  std::uint32_t at = home(slots_[slot].block);
  while (index_[at] != none) at = (at + 1) & mask_;
  index_[at] = slot;
}

void BlockTable::index_erase(Slot slot) {
  std::uint32_t hole = home(slots_[slot].block);
  while (index_[hole] != slot) hole = (hole + 1) & mask_;
  // Close the gap: pull back every later entry of the run that may lie here.
  for (std::uint32_t at = (hole + 1) & mask_; index_[at] != none; at = (at + 1) & mask_) {
    const std::uint32_t distance_home = (at - home(slots_[index_[at]].block)) & mask_;
    if (distance_home >= ((at - hole) & mask_)) {
      index_[hole] = index_[at];
      hole = at;
    }
  }
  index_[hole] = none;
}

}  // namespace nearfar::sim::nvdimm

#include "tier/far/slots.h"

#include <algorithm>

namespace nearfar::tier {

Slot Slots::take() {
  // Where most slots are in use a search would be long, so the file grows instead. The next search
  // continues where this one ends, so that every free slot is found in time.
  constexpr std::uint64_t few = 16;  // one in so many is free, or fewer
  constexpr Slot looked_at = 64;
  constexpr Slot looked_at_if_many = 4096;
  const auto end = static_cast<Slot>(
      std::min(control_->slots_end.load(std::memory_order_acquire), control_->far_slots));
  const std::uint64_t used = control_->slots_used.load(std::memory_order_relaxed);
  const Slot most = std::min(end, used + end / few < end ? looked_at_if_many : looked_at);
  for (Slot left = most; left > 0;) {
    const Slot from = cursor_ < end ? cursor_ : 0;
    const Slot stop = from + std::min(left, end - from);
    const Slot slot = find_free(from, stop);
    cursor_ = std::min(slot + 1, stop);
    left -= cursor_ - from;
    if (slot != stop && claim(slot)) return taken(slot);
  }
  const std::uint64_t grown = control_->slots_end.fetch_add(1, std::memory_order_acq_rel);
  if (grown < control_->far_slots && claim(static_cast<Slot>(grown)))
    return taken(static_cast<Slot>(grown));
  control_->slots_end.store(control_->far_slots, std::memory_order_release);
  for (Slot slot = 0; slot < control_->far_slots; ++slot)
    if (claim(slot)) return taken(slot);
  return no_slot;
}

Slot Slots::take(Chunks::Class wanted) {
  const Slot first = chunks_.promise(wanted);
  if (first == no_slot) return no_slot;
  // One of them is free: a process frees a slot before its chunk promises it again.
  for (Slot tried = 0;; tried = (tried + 1) % Chunks::slots_a_chunk)
    if (claim(first + tried)) return taken(first + tried);
}

void Slots::release_all(std::size_t member) {
  Member& owner = control_->members[member];
  const auto end = static_cast<Slot>(
      std::min(control_->slots_end.load(std::memory_order_acquire), control_->far_slots));
  for (Slot slot = 0; slot < end && owner.far_slots.load() != 0; ++slot)
    if (users_[slot].owner_plus_one.load() == member + 1) disown(slot, owner);
  owner.far_slots.store(0);
}

}  // namespace nearfar::tier

#include "tier/far/chunks.h"

#include <linux/falloc.h>

#include <algorithm>

#include "tier/os/system.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {

static_assert(Orders::offset + sizeof(Orders) <= Chunks::Totals::offset);
static_assert(Chunks::Totals::offset + sizeof(Chunks::Totals) <= Control::bytes);

Slot Chunks::promise(Class wanted) {
  std::size_t& current = current_[wanted];
  const auto found = [&] { return static_cast<Slot>(current * slots_a_chunk); };
  if (current < end() && join(current, wanted)) return found();
  const Totals::OfClass& all = totals_->of_class[wanted];
  const std::uint64_t slots = all.chunks.load() * slots_a_chunk;
  const std::uint64_t in_use = std::min(all.slots.load(), slots);
  if ((slots - in_use) * 4 > slots && find_room(wanted)) return found();
  if (totals_->chunks.load() < end() && find_empty(wanted)) return found();
  if (grow(wanted) || find_empty(wanted) || find_room(wanted)) return found();
  return no_slot;
}

void Chunks::release(Slot slot) {
  const std::size_t chunk = slot / slots_a_chunk;
  State& chunks_state = states_[chunk];
  std::uint32_t seen = chunks_state.load();
  const Class of = class_in(seen);
  bool last = false;
  do {
    last = count_in(seen) == 1;
  } while (!chunks_state.compare_exchange_weak(seen, last ? being_emptied : seen - 1));
  totals_->of_class[of].slots.fetch_sub(1);
  if (!last) return;
  constexpr int as_a_hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  // On a file system without holes, the chunk's next class uses the room again.
  os::call(__NR_fallocate, file_, as_a_hole, os::word(chunk * slots_a_chunk * os::page_bytes),
           os::word(of * step_bytes * slots_a_chunk));
  totals_->of_class[of].chunks.fetch_sub(1);
  totals_->chunks.fetch_sub(1);
  chunks_state.store(0, std::memory_order_release);
}

std::size_t Chunks::end() const {
  return std::min(control_->slots_end.load(std::memory_order_acquire), control_->far_slots) /
         slots_a_chunk;
}

/// Reserves a slot of a chunk, if it has that class and a free slot.
bool Chunks::join(std::size_t chunk, Class wanted) {
  std::uint32_t seen = states_[chunk].load(std::memory_order_acquire);
  while (class_in(seen) == wanted && count_in(seen) < slots_a_chunk) {
    if (!states_[chunk].compare_exchange_weak(seen, seen + 1)) continue;
    totals_->of_class[wanted].slots.fetch_add(1);
    return true;
  }
  return false;
}

/// Reserves the first slot of a chunk, if it is free.
bool Chunks::open(std::size_t chunk, Class wanted) {
  std::uint32_t free = 0;
  if (!states_[chunk].compare_exchange_strong(free, state(wanted, 1))) return false;
  totals_->chunks.fetch_add(1);
  totals_->of_class[wanted].chunks.fetch_add(1);
  totals_->of_class[wanted].slots.fetch_add(1);
  current_[wanted] = chunk;
  return true;
}

bool Chunks::find_room(Class wanted) {
  const std::size_t all = end();
  std::size_t chunk = current_[wanted];
  for (std::size_t looked_at = 0; looked_at < all; ++looked_at, ++chunk) {
    if (chunk >= all) chunk = 0;
    if (!join(chunk, wanted)) continue;
    current_[wanted] = chunk;
    return true;
  }
  return false;
}

bool Chunks::find_empty(Class wanted) {
  const std::size_t all = end();
  std::size_t& chunk = current_[0];
  for (std::size_t looked_at = 0; looked_at < all; ++looked_at, ++chunk) {
    if (chunk >= all) chunk = 0;
    if (open(chunk, wanted)) return true;
  }
  return false;
}

bool Chunks::grow(Class wanted) {
  const std::uint64_t grown =
      control_->slots_end.fetch_add(slots_a_chunk, std::memory_order_acq_rel);
  if (grown + slots_a_chunk <= control_->far_slots) return open(grown / slots_a_chunk, wanted);
  control_->slots_end.store(control_->far_slots, std::memory_order_release);
  return false;
}

}  // namespace nearfar::tier

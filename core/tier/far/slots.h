#pragma once

#include <atomic>
#include <cstdint>

#include "tier/far/chunks.h"
#include "tier/os/system.h"
#include "tier/pager/page.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// The slots of a tree's far memory, from which all of its processes take. A slot counts its users,
/// so that a forked child still finds its parent's contents there when the parent has released it.
/// It also has an owner, so that it can be released for a process that ended, or executed another
/// program, without doing so.
class Slots {
 public:
  struct Users {
    std::atomic<std::uint16_t> count;
    std::atomic<std::uint16_t> owner_plus_one;  ///< by its position among the members; 0: none
  };

  Slots() = default;
  /// With `chunks`, a slot is as large as its chunk says; without, it is as large as a page.
  Slots(Control& control, Users* users, Chunks chunks = {})
      : control_(&control), users_(users), chunks_(chunks) {}

  /// The owner of the slots that are taken from now on, by its position among the members.
  void become(std::size_t member) { member_ = member; }

  /// Takes a free slot; `no_slot` if all are in use. It follows the one taken last where that is
  /// free, so that pages which leave together lie together.
  [[nodiscard]] Slot take();
  /// The same, in chunks: a slot of this class.
  [[nodiscard]] Slot take(Chunks::Class wanted);
  [[nodiscard]] const Chunks& chunks() const { return chunks_; }

  /// Releases a slot that this process has taken. It is free when its last user releases it.
  void release(Slot slot) { disown(slot, control_->members[member_]); }
  /// Releases all slots of a member that has ended.
  void release_all(std::size_t member);

  /// One user more, such as a forked child, which does not own the slot; and one less.
  void share(Slot slot) { (void)count(slot, 1); }
  void unshare(Slot slot) {
    // Before it is free: then it has no size.
    const std::size_t bytes = slot_bytes(slot);
    if (count(slot, -1) != 1) return;
    control_->slots_used.fetch_sub(1);
    control_->stored_bytes.fetch_sub(bytes);
    if (chunks_.used()) chunks_.release(slot);
  }
  [[nodiscard]] bool shared(Slot slot) const {
    return users_[slot].count.load(std::memory_order_acquire) > 1;
  }

 private:
  [[nodiscard]] std::size_t slot_bytes(Slot slot) const {
    return chunks_.used() ? chunks_.slot_bytes(slot) : os::page_bytes;
  }
  /// The first slot from `from` on, before `end`, that is free; `end` if there is none.
  [[nodiscard]] Slot find_free(Slot from, Slot end) const {
    while (from != end && users_[from].count.load(std::memory_order_relaxed) != 0) ++from;
    return from;
  }
  [[nodiscard]] bool claim(Slot slot) {
    std::atomic<std::uint16_t>& users = users_[slot].count;
    std::uint16_t free = 0;
    return users.load(std::memory_order_relaxed) == 0 &&
           users.compare_exchange_strong(free, 1, std::memory_order_acq_rel);
  }
  /// Counts a user more or less and returns how many there were. A slot that once had more users
  /// than can be counted is never free again, as the last one is not known.
  std::uint16_t count(Slot slot, int change) {
    constexpr std::uint16_t most = 0xffff;
    std::atomic<std::uint16_t>& users = users_[slot].count;
    std::uint16_t before = users.load(std::memory_order_relaxed);
    while (before != most &&
           !users.compare_exchange_weak(before, static_cast<std::uint16_t>(before + change),
                                        std::memory_order_acq_rel)) {
    }
    return before;
  }
  void disown(Slot slot, Member& owner) {
    users_[slot].owner_plus_one.store(0, std::memory_order_relaxed);
    owner.far_slots.fetch_sub(1, std::memory_order_relaxed);
    unshare(slot);
  }
  Slot taken(Slot slot) {
    const auto owner = static_cast<std::uint16_t>(member_ + 1);
    control_->members[member_].far_slots.fetch_add(1, std::memory_order_relaxed);
    users_[slot].owner_plus_one.store(owner, std::memory_order_relaxed);
    control_->raise(Count::slots_peak, control_->slots_used.fetch_add(1) + 1);
    const std::size_t bytes = slot_bytes(slot);
    control_->raise(Count::stored_peak, control_->stored_bytes.fetch_add(bytes) + bytes);
    return slot;
  }

  Control* control_ = nullptr;
  Users* users_ = nullptr;
  Chunks chunks_;
  std::size_t member_ = 0;
  Slot cursor_ = 0;  // where the search for a free slot goes on
};

}  // namespace nearfar::tier

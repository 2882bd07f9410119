#pragma once

#include <atomic>
#include <cstdint>

#include "tier/far/chunks.h"
#include "tier/os/system.h"
#include "tier/pager/page.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// The places of the far file. Every process of a tree takes from the same ones; a count of users
/// says who still needs a slot, so that a forked child finds there what its parent had, and an
/// owner whose it is when a process ends, or becomes another program, without giving it back.
class Slots {
 public:
  struct Users {
    std::atomic<std::uint16_t> count;
    std::atomic<std::uint16_t> owner_plus_one;  ///< by its place among the members; 0: nobody
  };

  Slots() = default;
  /// With `chunks`, slots are as large as these say, otherwise pages.
  Slots(Control& control, Users* users, Chunks chunks = {})
      : control_(&control), users_(users), chunks_(chunks) {}

  /// Whose slots these are that are taken from now on, by its place among the members.
  void become(std::size_t member) { member_ = member; }

  /// A slot that nobody uses, for this process alone; `no_slot` if all are in use. Behind the last
  /// one taken as a rule, so that pages which leave together lie together.
  [[nodiscard]] Slot take();
  /// The same, in chunks: one of this class.
  [[nodiscard]] Slot take(Chunks::Class wanted);
  [[nodiscard]] const Chunks& chunks() const { return chunks_; }

  /// Gives back a slot that was taken here.
  void release(Slot slot) { disown(slot, control_->members[member_]); }
  /// Gives back all that a member took, which has ended.
  void release_all(std::size_t member);

  /// For a forked child, too; not its own.
  void share(Slot slot) { (void)count(slot, 1); }
  void unshare(Slot slot) {
    // Before it is free, as it has no size afterwards.
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
  [[nodiscard]] bool claim(Slot slot) {
    std::atomic<std::uint16_t>& users = users_[slot].count;
    std::uint16_t free = 0;
    return users.load(std::memory_order_relaxed) == 0 &&
           users.compare_exchange_strong(free, 1, std::memory_order_acq_rel);
  }
  /// Counts a user more or less; how many there were. Of more than can be counted a slot keeps the
  /// most for ever: nobody knows any more who the last one is.
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

#pragma once

#include <atomic>
#include <cstdint>

#include "tier/control.h"
#include "tier/page_table.h"

namespace nearfar::tier {

/// The places of the far file. Every process of a tree takes from the same ones; a count of users
/// says who still needs a slot, so that a forked child finds there what its parent had.
class Slots {
 public:
  using Users = std::atomic<std::uint16_t>;

  Slots() = default;
  Slots(Control& control, Users* users) : control_(&control), users_(users) {}

  /// A slot that nobody uses, for this process alone; `no_slot` if all are in use. Near the last
  /// one taken, so that pages which leave together lie together.
  [[nodiscard]] Slot take();

  void share(Slot slot) { users_[slot].fetch_add(1, std::memory_order_relaxed); }
  void release(Slot slot) {
    if (users_[slot].fetch_sub(1, std::memory_order_acq_rel) == 1)
      control_->slots_used.fetch_sub(1);
  }
  [[nodiscard]] bool shared(Slot slot) const {
    return users_[slot].load(std::memory_order_acquire) > 1;
  }

 private:
  [[nodiscard]] bool claim(Slot slot) {
    std::uint16_t free = 0;
    return users_[slot].compare_exchange_strong(free, 1, std::memory_order_acq_rel);
  }
  Slot taken(Slot slot) {
    cursor_ = slot + 1;
    control_->raise(Count::slots_peak, control_->slots_used.fetch_add(1) + 1);
    return slot;
  }

  Control* control_ = nullptr;
  Users* users_ = nullptr;
  Slot cursor_ = 0;
};

}  // namespace nearfar::tier

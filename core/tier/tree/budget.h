#pragma once

#include <cstdint>

#include "tier/far/slots.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// This process's part of the near memory that a tree may use. What will be used is charged
/// before it is granted, and released after it is gone.
class Budget {
 public:
  Budget() = default;
  Budget(Control& control, Slots slots) : control_(&control), slots_(slots) {}

  /// Takes a place, by the process's number in /proc, among the tree's processes; false if there
  /// are too many.
  [[nodiscard]] bool join(std::int32_t process);
  /// A place for a child about to be forked; null if there are too many.
  [[nodiscard]] Member* prepare_child();
  /// Charges a child as much as this process has, as either may write to every page that they
  /// share. False, and nothing is charged, if that is too much.
  [[nodiscard]] bool charge_child(Member& child, bool whatever);
  /// In the child, which has that place: its number.
  void become(Member& member, std::int32_t process);
  /// Gives up a place and what it had far, whoever had it: the process has ended.
  void end(Member& member);
  /// Gives up the places of processes that have ended; true if there were any.
  bool reap();

  /// False, and nothing is charged, beyond the limit.
  [[nodiscard]] bool try_charge(std::uint64_t pages) { return take(*member_, pages, limit()); }
  /// Whoever else has near memory is to give way until so much is free; 0: until then as ever.
  void want(std::uint64_t pages) { control_->wanted_pages.store(pages); }
  [[nodiscard]] std::uint64_t wanted() const { return control_->wanted_pages.load(); }
  /// Whatever the limit.
  void charge(std::uint64_t pages) { (void)take(*member_, pages, ~std::uint64_t{0}); }
  void release(std::uint64_t pages) {
    if (pages == 0) return;
    member_->near_pages.fetch_sub(pages, std::memory_order_relaxed);
    control_->near_total.fetch_sub(pages);
  }
  /// Pages that hold something, wherever.
  void managed(std::int64_t change) {
    const auto delta = static_cast<std::uint64_t>(change);
    member_->managed_pages.fetch_add(delta, std::memory_order_relaxed);
    control_->raise(Count::managed_peak, control_->managed_total.fetch_add(delta) + delta);
  }
  void unmanaged(std::uint64_t pages);

  [[nodiscard]] std::uint64_t limit() const { return control_->limit_pages.load(); }
  [[nodiscard]] std::uint64_t own() const {
    return member_->near_pages.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t free() const {
    const std::uint64_t total = control_->near_total.load();
    return total < limit() ? limit() - total : 0;
  }
  [[nodiscard]] std::uint64_t others() const {
    const std::uint64_t total = control_->near_total.load();
    return total > own() ? total - own() : 0;
  }
  [[nodiscard]] std::uint64_t processes() const;
  [[nodiscard]] Member& member() const { return *member_; }
  /// This process's place among the tree's.
  [[nodiscard]] std::size_t index() const {
    return static_cast<std::size_t>(member_ - control_->members);
  }

 private:
  /// What a child needs to know of its place, which it has not taken yet.
  struct Forked {
    std::int32_t parent = 0;
    std::uint64_t near_pages = 0;
    std::uint64_t managed_pages = 0;
  };

  [[nodiscard]] Member* place(std::int32_t process);
  bool take(Member& member, std::uint64_t pages, std::uint64_t limit);
  void charge_forked(Member& child);

  Control* control_ = nullptr;
  Slots slots_;
  Member* member_ = nullptr;
  Forked forked_;  ///< the last
  bool sees_others_ = true;  ///< not in a namespace of process numbers of its own
};

}  // namespace nearfar::tier

#pragma once

#include <cstdint>

#include "tier/far/slots.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// This process's part of the near memory that a tree may use. Pages are charged before they are
/// granted, and released after they have been freed.
class Budget {
 public:
  Budget() = default;
  Budget(Control& control, Slots slots) : control_(&control), slots_(slots) {}

  /// Charges mean nothing from now on, as both tiers are addressed directly: all that is there is
  /// charged, and there is room for as much as addresses reach.
  void unbind() { bounded_ = false; }

  /// Takes a place among the tree's processes, by the process's number in /proc. Returns false if
  /// there are too many.
  [[nodiscard]] bool join(std::int32_t process);
  /// A place for a child about to be forked; null if there are too many processes.
  [[nodiscard]] Member* prepare_child();
  /// Charges a child as much as this process has, as either may write to every page that they
  /// share. Returns false, and charges nothing, if that is beyond the limit, unless it is `forced`.
  [[nodiscard]] bool charge_child(Member& child, bool forced);
  /// In the child: it runs, under that number, and takes over the place prepared for it.
  void become(Member& member, std::int32_t process);
  /// Gives up the place of a process that has ended, and its far slots.
  void end(Member& member);
  /// Gives up the places of all processes that have ended; true if there were any.
  bool reap();

  /// Charges pages. Returns false, and charges nothing, if that is beyond the limit.
  [[nodiscard]] bool try_charge(std::uint64_t pages) { return take(*member_, pages, limit()); }
  /// Asks the tree's other processes to evict until so many pages are free; 0: no more than usual.
  void want(std::uint64_t pages) { control_->wanted_pages.store(pages); }
  [[nodiscard]] std::uint64_t wanted() const { return control_->wanted_pages.load(); }
  /// Charges pages even beyond the limit.
  void charge(std::uint64_t pages) { (void)take(*member_, pages, ~std::uint64_t{0}); }
  void release(std::uint64_t pages) {
    if (pages == 0) return;
    member_->near_pages.fetch_sub(pages, std::memory_order_relaxed);
    control_->near_total.fetch_sub(pages);
  }
  /// So many pages more, near or far, hold something.
  void managed(std::int64_t change) {
    const auto delta = static_cast<std::uint64_t>(change);
    member_->managed_pages.fetch_add(delta, std::memory_order_relaxed);
    control_->raise(Count::managed_peak, control_->managed_total.fetch_add(delta) + delta);
  }
  /// So many anonymous pages of this process are not managed now.
  void unmanaged(std::uint64_t pages);

  /// Pages: all that the tree may have, this process's, those that are free, the other
  /// processes'.
  [[nodiscard]] std::uint64_t limit() const {
    constexpr std::uint64_t unbounded = std::uint64_t{1} << 40U;
    return bounded_ ? control_->limit_pages.load() : unbounded;
  }
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
  /// The position of this process's place.
  [[nodiscard]] std::size_t index() const {
    return static_cast<std::size_t>(member_ - control_->members);
  }

 private:
  /// What a child needs to take over its place, or to make another as it was.
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
  Forked forked_;  // the last
  bool bounded_ = true;
  bool sees_others_ = true;  // false in a namespace of process numbers of its own
};

}  // namespace nearfar::tier

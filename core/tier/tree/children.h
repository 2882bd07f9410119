#pragma once

#include <cstddef>
#include <span>

#include "tier/os/system.h"
#include "tier/pager/page.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// The processes that this one has forked, for as long as they run its program. Each child keeps
/// the end of a pipe open. The kernel closes it when the child executes another program or ends, so
/// that the parent learns of either, however it happens.
class Children {
 public:
  struct Child {
    int alive = -1;  ///< the end of the pipe that hangs up; -1: no child
    int held = -1;  ///< the child's end, until it has been forked
    bool waits = false;  ///< its fork was permitted, and has not begun
    Member* member = nullptr;  ///< its part of the budget
    Slot* shared = nullptr;  ///< slots that it may read; it is counted as a user of each
    std::size_t count = 0;
    std::size_t capacity = 0;
    std::uint64_t charged = 0;  ///< for the memory of that list, in pages
  };
  /// As many as a tree has processes, so that the tree's places run out first.
  static constexpr std::size_t most = Control::most_members;

  /// A place for a child about to be forked, with its pipe; null if no descriptors or no memory is
  /// left.
  Child* prepare();
  /// A child that waits for its fork to begin; null if there is none.
  Child* waiting();
  /// In the parent, after the fork: closes the child's end.
  static void forked(Child& child);
  /// In the child: closes all that belongs to its parent, and keeps its own end.
  void keep_only(const Child* self);
  /// Closes what is open for a child, frees its list, and makes its place empty.
  void remove(Child& child);

  /// A child that has ended or executed another program, and has not been removed; null if there is
  /// none.
  [[nodiscard]] Child* ended();

  /// Places that were ever taken, with those that are empty again.
  [[nodiscard]] std::span<const Child> all() const { return {places_, used_}; }
  /// To be polled: readable when `ended` has one; -1 before the first child.
  [[nodiscard]] int descriptor() const { return epoll_; }
  /// The descriptor by which this process's parent knows that it runs; -1 if it was not forked.
  [[nodiscard]] int own_end() const { return own_end_; }

 private:
  [[nodiscard]] bool listen();

  Child* places_ = nullptr;
  std::size_t used_ = 0;
  int epoll_ = -1;
  int own_end_ = -1;
};

}  // namespace nearfar::tier

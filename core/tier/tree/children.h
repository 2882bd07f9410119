#pragma once

#include <cstddef>
#include <span>

#include "tier/os/system.h"
#include "tier/pager/page.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// The processes that this one has forked, as long as they run its program. Each keeps a pipe's
/// end open which an exec or its end closes, so that the parent learns of both, whatever happens.
class Children {
 public:
  struct Child {
    int alive = -1;            ///< the end of the pipe that hangs up; -1: an empty place
    int held = -1;             ///< the child's end, until it has been forked
    bool waits = false;        ///< its fork was agreed to, and has not begun
    Member* member = nullptr;  ///< its part of the budget
    Slot* shared = nullptr;    ///< slots that it may read, each counted once more for it
    std::size_t count = 0;
    std::size_t capacity = 0;
    std::uint64_t charged = 0;  ///< for that list, in pages
  };
  /// As many as a tree has processes, so that it is never these places that are too few.
  static constexpr std::size_t most = Control::most_members;

  /// A place for a child about to be forked, with its pipe; null if there are no descriptors or
  /// there is no memory left.
  Child* prepare();
  /// A child that waits for its fork to begin; null if there is none.
  Child* waiting();
  /// In the parent, after the fork: lets go of the child's end.
  static void forked(Child& child);
  /// In the child: lets go of all that belongs to its parent, and keeps its own end.
  void inherited(const Child* self);
  void forget(Child& child);

  /// A child that has ended or become another program; null if none has lately. The caller forgets
  /// it.
  [[nodiscard]] Child* ended();

  /// Places that were ever taken, empty ones among them.
  [[nodiscard]] std::span<const Child> all() const { return {places_, used_}; }
  /// To be polled: readable when a child has ended; -1 before the first.
  [[nodiscard]] int descriptor() const { return epoll_; }
  /// The descriptor that tells this process's parent that it is there.
  [[nodiscard]] int own_end() const { return own_end_; }

 private:
  [[nodiscard]] bool listen();

  Child* places_ = nullptr;
  std::size_t used_ = 0;
  int epoll_ = -1;
  int own_end_ = -1;
};

}  // namespace nearfar::tier

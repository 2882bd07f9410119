#pragma once

#include <array>
#include <cstddef>

#include "tier/control.h"
#include "tier/os/system.h"
#include "tier/page_table.h"

namespace nearfar::tier {

/// The processes that this one has forked, as long as they run its program. Each keeps a pipe's
/// end open which an exec or its end closes, so that the parent learns of both, whatever happens.
class Children {
 public:
  struct Child {
    int alive = -1;            ///< the end of the pipe that hangs up; -1: an empty place
    int held = -1;             ///< the child's end, until it has been forked
    Member* member = nullptr;  ///< its part of the budget
    Slot* shared = nullptr;    ///< slots that it may read, each counted once more for it
    std::size_t count = 0;
    std::size_t capacity = 0;
  };
  static constexpr std::size_t most = 64;

  /// A place for a child about to be forked, with its pipe; null if there are too many.
  Child* prepare();
  /// In the parent, after the fork: lets go of the child's end.
  static void forked(Child& child);
  /// In the child: lets go of all that belongs to its parent, and keeps its own end.
  void inherited(const Child* self);
  static void forget(Child& child);

  [[nodiscard]] std::array<Child, most>& all() { return children_; }
  /// The descriptor that tells this process's parent that it is there.
  [[nodiscard]] int own_end() const { return own_end_; }

 private:
  std::array<Child, most> children_{};
  int own_end_ = -1;
};

}  // namespace nearfar::tier

#pragma once

#include "tier/pager/state.h"
#include "tier/tree/children.h"

namespace nearfar::tier {

/// The processes that this one has forked, and what they share with it: slots of far memory, and a
/// part of the budget.
class ForkedChildren {
 public:
  explicit ForkedChildren(PagerState& state) : state_(state) {}

  /// Takes what a child needs, for a fork to come. False if the tree, or this process, can have no
  /// more of them.
  [[nodiscard]] bool prepare();
  /// A prepared child whose fork begins now; null if there is none and none can be prepared.
  [[nodiscard]] Children::Child* begin();
  /// Lets a child share all slots of this process's pages.
  void share_slots(Children::Child& child);
  /// Children have ended or become other programs: what they shared is this process's own again.
  /// False if there are none.
  bool reap();
  /// The child has ended, or is not to be forked after all.
  void end(Children::Child& child);

  [[nodiscard]] Children& all() { return children_; }
  [[nodiscard]] const Children& all() const { return children_; }

 private:
  PagerState& state_;
  Children children_;
};

}  // namespace nearfar::tier

#pragma once

#include <cstdint>

#include "tier/pager/eviction.h"
#include "tier/pager/page_in.h"
#include "tier/pager/read_ahead.h"

namespace nearfar::tier {

/// Obeys what a tree is told while it runs: another limit of near memory, or to bring everything
/// back and keep it.
class TreeOrders {
 public:
  struct Parts {
    PageIn& page_in;
    ReadAhead& read_ahead;
    Eviction& eviction;
    IncomingGroups& incoming;
    FaultWindows& windows;
  };
  TreeOrders(PagerState& state, Parts parts)
      : state_(state), parts_(parts), limit_(state.control.limit_pages) {}

  /// Does some of what is to be done, so that faults need not wait. True while there is more.
  bool obey();
  /// The limit is as it should be for all that there is.
  void adopt_limit() { limit_ = state_.budget.limit(); }
  /// In a forked child: what was answered, its parent has answered.
  void become_child();

 private:
  void begin(std::uint32_t generation);
  void resize();
  [[nodiscard]] bool bring_back_some();
  [[nodiscard]] std::size_t bring_back_from(PageNumber first);
  [[nodiscard]] std::uint64_t far_pages() const;

  PagerState& state_;
  Parts parts_;
  std::uint64_t limit_;  // that limbo and streams are made for
  std::uint32_t obeyed_ = 0;  // generation of orders
  bool bringing_back_ = false;
  PageNumber next_back_ = 0;
};

}  // namespace nearfar::tier

#pragma once

#include <cstdint>

#include "tier/pager/eviction.h"
#include "tier/pager/fault_windows.h"
#include "tier/pager/forked_children.h"
#include "tier/pager/incoming_groups.h"
#include "tier/pager/page_in.h"
#include "tier/pager/read_ahead.h"
#include "tier/pager/remap.h"
#include "tier/pager/tree_orders.h"

namespace nearfar::tier {

/// A fork. The child's memory is what the parent's was, as far as it is near; what is far, the
/// child finds in the same slots, which are counted once more for it. The kernel tells the child's
/// pager nothing, so that everything is agreed upon before:
///
///   pause          nothing is evicted any more, limbo is empty, the child's part of the budget is
///                  charged, every slot has one more user. The state of pages stays as it is, so
///                  that the child inherits a state that is true: faults are served, but only noted
///                  in a log that parent and child both see.
///   resume         in the parent: what the log says becomes state.
///   become_child   in the child, before all code but libc's: of the pages in the log, those that
///                  were there in time are resident. What was dropped meanwhile is gone.
///   register_in_child  then a userfaultfd of its own.
class Fork {
 public:
  struct Parts {
    PageIn& page_in;
    Arrivals& arrivals;
    ReadAhead& read_ahead;
    Eviction& eviction;
    IncomingGroups& incoming;
    FaultWindows& windows;
    Remap& remap;
    TreeOrders& orders;
    ForkedChildren& children;
  };
  Fork(PagerState& state, Parts parts) : state_(state), parts_(parts) {}

  /// Takes what a child needs. False if a tree, or this process, can have no more of them.
  [[nodiscard]] bool prepare() { return parts_.children.prepare(); }
  /// False, and nothing is paused, if `prepare` did not come before and would be false now.
  [[nodiscard]] bool pause();
  void resume();
  /// `stack`: where the child came to life.
  void become_child(os::Place stack, std::int32_t process);
  /// In the child: its parent has dropped these pages, though perhaps not yet when the child was
  /// made.
  void on_removed_in_parent(os::Place begin, os::Place end);
  void register_in_child();
  [[nodiscard]] bool is_paused() const { return log_ != nullptr; }

  /// Whether a fault could be served now; while forking, only so many can.
  [[nodiscard]] bool can_serve() const;
  /// While paused: brings in the page and notes that, but leaves its state as it is.
  [[nodiscard]] Filled bring_in(const Fault& fault);

  /// Children have ended or become other programs: what they shared is this process's own again.
  /// False if there are none.
  bool reap() { return parts_.children.reap(); }
  [[nodiscard]] const Children& children() const {
    const ForkedChildren& all = parts_.children;
    return all.all();
  }

 private:
  struct Log;

  void charge_child();
  [[nodiscard]] bool try_charge_child(bool whatever);
  void charge_list();
  void use_spare();
  void return_spare();
  void adopt(PageNumber page);
  void adopt_log(const Log& log, os::Place stack);
  void borrow_slots();
  void discard_unregistered();
  void discard_unregistered(PageNumber first, PageNumber last);

  PagerState& state_;
  Parts parts_;
  Log* log_ = nullptr;
  Children::Child* child_ = nullptr;  // that is being forked
  std::uint64_t spare_ = 0;  // pages charged for faults that must be served while forking
  std::uint64_t next_beyond_ = 0;  // when another may be, without such a page
};

}  // namespace nearfar::tier

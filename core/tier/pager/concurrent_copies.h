#pragma once

#include "tier/pager/fault_handler.h"
#include "tier/pager/in_flight.h"

namespace nearfar::tier {

/// Pages that the threads which touched them copy to their places, several at once. What takes most
/// of a fault is the kernel's: a new page, and the copy. A thread that serves its own fault need
/// not keep others from the pager for that, if nothing else is done for the fault and nothing else
/// happens meanwhile. So until the last of these copies is complete, others only begin and complete
/// copies: no page leaves, nothing that the kernel tells is read, no request is served. The thread
/// that is the pager's next completes those that the kernel says are over: the thread that has
/// copied may be preempted just then.
class ConcurrentCopies {
 public:
  struct Parts {
    FarPages& far;
    PageIn& page_in;
    Arrivals& arrivals;
    ReadAhead& read_ahead;
    FaultWindows& windows;
    Fork& fork;
    FaultHandler& faults;
  };
  ConcurrentCopies(PagerState& state, Parts parts) : state_(state), parts_(parts) {}

  /// If all that a fault needs is a copy of a far page, and there is room: the caller is to make
  /// that, by `copy`, and then has left. Until all are over and complete, nothing else of the pager
  /// is called but these three, and `copy` alone while others are at it. Null otherwise.
  [[nodiscard]] PageCopy* begin(os::Place at, os::Touch touch);
  /// Whether the page came. No thread is woken. If it did not, it is as before when the copy has
  /// been completed, and is left to the fault handler.
  [[nodiscard]] bool copy(PageCopy& copy) const { return state_.uffd().run(copy.copy); }
  /// Takes down what has become of those that are over, whichever thread made them.
  void complete();
  [[nodiscard]] InFlight& in_flight() { return in_flight_; }

 private:
  [[nodiscard]] bool needs_only_copy(os::Place at) const;
  void complete(const PageCopy& copy);

  PagerState& state_;
  Parts parts_;
  InFlight in_flight_;
};

}  // namespace nearfar::tier

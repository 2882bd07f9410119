#pragma once

#include <cstdint>

#include "tier/pager/fault_windows.h"
#include "tier/pager/fork.h"
#include "tier/pager/page_in.h"
#include "tier/pager/read_ahead.h"
#include "tier/pager/remap.h"
#include "tier/pager/state.h"
#include "tier/pager/write_protection.h"
#include "tier/pager/zero_pages.h"

namespace nearfar::tier {

/// What became of a fault.
enum class FaultResult : std::uint8_t {
  woken,     ///< filling the page has woken the thread, or will with all others
  resident,  ///< nothing was to be filled: the thread is to be woken, and touches the page again
  retry,     ///< it cannot be served before messages have been read
};

/// What one fault does.
class FaultHandler {
 public:
  struct Parts {
    ReadAhead& read_ahead;
    PageIn& page_in;
    Eviction& eviction;
    FaultWindows& windows;
    Remap& remap;
    Fork& fork;
    WriteProtection& protection;
    ZeroPages& zeros;
  };
  FaultHandler(PagerState& state, Parts parts) : state_(state), parts_(parts) {}

  /// A thread waits for the page at `at`: brings it in, perhaps with those that come next, and
  /// wakes the thread, unless that is to be done later for all. Nothing is done if the result is
  /// `retry`.
  [[nodiscard]] FaultResult handle(os::Place at, os::Touch touch, os::Waking waking);

  /// Counts what the process holds outside the region.
  void sample();
  [[nodiscard]] bool is_sample_due() const { return state_.faults >= next_sample_; }

 private:
  [[nodiscard]] FaultResult serve(const Fault& fault);
  [[nodiscard]] FaultResult bring_in_missing(const Fault& fault);
  void open_window(const Fault& fault);
  [[nodiscard]] FaultResult settle(const Fault& fault);
  [[nodiscard]] FaultResult allow_write(const Fault& fault);
  void let_go_on(os::Place at, os::Touch touch, os::Waking waking) const;
  void count();

  PagerState& state_;
  Parts parts_;
  std::uint64_t next_sample_ = 0;  // when there were so many faults
};

}  // namespace nearfar::tier

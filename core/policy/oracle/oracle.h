#pragma once

#include <cstdint>
#include <vector>

#include "base/tick.h"
#include "policy/page.h"

namespace nearfar::policy {

struct OracleLimits {
  std::uint64_t near_pages = 0;  ///< that near memory holds
  Tick interval{};               ///< between the decisions of an oracle that waits between them
  std::uint64_t pairs = 0;       ///< pages exchanged in such a decision, at most
};

/// Decides which pages lie in near memory, and sees every access to memory: no running system can
/// tell it that much, a simulator can. Its figures are what other policies are compared with.
///
/// It names exchanges, and the caller makes every one of them, at once. It knows no addresses, no
/// time but the one it is told, and no system.
class Oracle {
 public:
  Oracle() = default;
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  virtual ~Oracle() = default;

  /// A page that was not there is touched for the first time: where it goes. Near only while
  /// there is room.
  virtual Tier place(PageIndex page) = 0;
  /// Memory was asked for part of the page. Appends the exchanges that follow.
  virtual void accessed(PageIndex page, bool write, Tick now, std::vector<Exchange>& exchanges) = 0;
  /// The page is unmapped: nothing is remembered of it.
  virtual void released(PageIndex page) = 0;
};

}  // namespace nearfar::policy

#pragma once

#include <cstdint>

#include "base/tick.h"
#include "policy/offline/flat.h"

namespace nearfar::policy {

/// What no placement can beat that knows the future, or is allowed less.
struct FlatBound {
  Tick hottest{};   ///< extra time with the pages near for good that save most, and none moved
  Tick sequence{};  ///< no sequence of exchanges has less extra time
};

/// The bounds for near memory of that size, exchanges at that cost and so many of them a decision;
/// the detector costs them nothing, and the policy's name is ignored.
///
/// A sequence says of each page and interval whether the page is near. Without the limits on near
/// pages and exchanges each page could choose by itself. So they get a price, for a page's place in
/// near memory in each interval and for each promotion before it, every page takes its best choice
/// at these prices, and the sum of what they save less what they pay, plus what the limits would
/// sell for, is a bound whatever the prices are (Lagrangian relaxation; Held, Wolfe and Crowder,
/// "Validation of subgradient optimization", 1974). Prices follow demand for a number of rounds,
/// and the lowest bound is kept.
[[nodiscard]] FlatBound flat_bound(const Touches& touches, const FlatOptions& options,
                                   const std::function<void()>& ask = {});

}  // namespace nearfar::policy

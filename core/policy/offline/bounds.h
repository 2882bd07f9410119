#pragma once

#include <cstdint>

#include "policy/offline/visits.h"

namespace nearfar::policy {

/// Misses of a choice that knows the future and leaves out the page that is needed last (Belady,
/// "A study of replacement algorithms for virtual-storage computer", IBM Systems Journal 1966): no
/// policy with `near` pages has fewer. First touches are among them.
[[nodiscard]] std::uint64_t belady_misses(const Visits& visits, PageIndex near);

/// Misses when the `near` pages that are visited most are near from their first touch on, and
/// every visit to another is a miss: the best that can be placed once and for all.
[[nodiscard]] std::uint64_t static_misses(const Visits& visits, PageIndex near);

}  // namespace nearfar::policy

#pragma once

#include <cstdint>

#include "policy/offline/visits.h"

namespace nearfar::policy {

/// Misses of a choice that knows the future and leaves out the page that is needed last (Belady,
/// "A study of replacement algorithms for virtual-storage computer", IBM Systems Journal 1966): no
/// policy with `near` pages has fewer. First touches are among them. 12 bytes a visit beside the
/// trace. Throws InputError for no near memory.
[[nodiscard]] std::uint64_t belady_misses(const Visits& visits, PageIndex near);

/// Misses when `near` pages are near from their first touch on, after a release again, and every
/// visit to another is a miss: those of which that saves most, the best that can be placed once and
/// for all.
[[nodiscard]] std::uint64_t static_misses(const Visits& visits, PageIndex near);

}  // namespace nearfar::policy

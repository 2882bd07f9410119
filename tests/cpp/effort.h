#pragma once

#include <algorithm>
#include <cstdint>

namespace nearfar::sim::testing {

/// A sanitizer makes each random case several times dearer, and looks for what the first cases
/// already do: one in so many is played. What only many cases show, the optimised build tests.
inline constexpr std::uint64_t one_in =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    16;
#else
    1;
#endif

/// Of `n` random cases, how many to play.
constexpr std::uint64_t cases(std::uint64_t n) { return std::max<std::uint64_t>(n / one_in, 1); }

}  // namespace nearfar::sim::testing

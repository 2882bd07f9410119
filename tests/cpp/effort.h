#pragma once

#include <algorithm>
#include <cstdint>

namespace nearfar::sim::testing {

/// Of `n` random cases, how many to play: all of them, but under a sanitizer, which makes each
/// several times dearer and looks for what the first cases already do, a quarter.
constexpr std::uint64_t cases(std::uint64_t n) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::max<std::uint64_t>(n / 4, 1);
#else
  return n;
#endif
}

}  // namespace nearfar::sim::testing

#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::tier {

/// Pages that are copied, or compared, at once at most. Pages side by side that move at once cost
/// an eighth of what one alone costs; more gain little.
inline constexpr std::size_t most_at_once = 64;
/// Fewest pages that leave at once.
inline constexpr std::size_t smallest_batch = 16;

/// Most pages brought in at once.
inline constexpr std::size_t longest_run = 32;
static_assert(longest_run <= most_at_once);
/// Most pages brought in for a fault, at once and behind it. A stream that has caught up faults,
/// which costs as much as several pages: the longer it is, the fewer of these.
inline constexpr std::size_t longest_stream = 512;

/// Pages of staging memory under a limit; Limbo itself caps it.
[[nodiscard]] constexpr std::size_t limbo_pages(std::uint64_t limit) {
  const std::uint64_t part = limit / 16;
  return part < 16 ? 16 : part;
}

/// Longest read-ahead under a limit.
[[nodiscard]] constexpr std::size_t stream_pages(std::uint64_t limit) {
  return limit / 64 < longest_stream ? limit / 64 : longest_stream;
}

}  // namespace nearfar::tier

#pragma once

#include <cstdint>

#include "sim/cpu/config.h"

namespace nearfar::sim {

/// Untimed accesses before a measurement of stores fill the caches this much over: replacement
/// that is not LRU throws lines out before all places are taken.
inline constexpr std::uint64_t overfill_percent = 130;

/// Cached accesses of all threads after which the caches are as full as they will be, and of what
/// they will be full of.
[[nodiscard]] inline std::uint64_t lines_to_overfill(const cpu::Config& core,
                                                     std::uint32_t threads) {
  const Bytes caches = core.caches.l3.size + threads * core.caches.l2.size;
  return caches / line_bytes * overfill_percent / 100;
}

}  // namespace nearfar::sim

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/os/system.h"

namespace nearfar::tier {

/// The memory that is managed: one range of addresses, registered as a whole, and beside it the
/// staging memory that pages pass through on their way out. `nearfar tier core` reads it, and the
/// page table, from outside (python/nearfar/tier/core/pages.py).
struct Region {
  os::Place base = 0;
  std::size_t length = 0;
  os::Place staging = 0;
  os::Place pages = 0;   ///< of the page table: its entries,
  os::Place groups = 0;  ///< and the ranks of its groups, not 0 where it has been used
  std::array<std::int32_t, 8> pagers{};  ///< the threads that serve faults; 0: none
};

}  // namespace nearfar::tier

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/named.h"

namespace nearfar::tier::os {

/// How pages leave their place.
#define NEARFAR_EVICTIONS(ENTRY)                                                           \
  ENTRY(best, "best", "move where the kernel can, else copy")                              \
  ENTRY(move, "move",                                                                      \
        "by UFFDIO_MOVE, since Linux 6.8, which refuses pages that a device may write to") \
  ENTRY(copy, "copy", "write-protected, copied and dropped; since Linux 5.7")

enum class Eviction : std::uint32_t { NEARFAR_EVICTIONS(NEARFAR_VALUE) };
inline constexpr Named all_evictions[] = {NEARFAR_EVICTIONS(NEARFAR_NAMED)};

[[nodiscard]] constexpr const char* name_of(Eviction eviction) {
  return all_evictions[static_cast<std::size_t>(eviction)].name;
}

}  // namespace nearfar::tier::os

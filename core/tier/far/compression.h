#pragma once

#include <cstddef>
#include <cstdint>

#include "base/named.h"

namespace nearfar::tier {

/// What far pages are compressed with.
#define NEARFAR_COMPRESSIONS(ENTRY)         \
  ENTRY(none, "none", "stored as they are") \
  ENTRY(lz4, "lz4", "fast")                 \
  ENTRY(zstd, "zstd", "slower, and saves more")

enum class Compression : std::uint32_t { NEARFAR_COMPRESSIONS(NEARFAR_VALUE) };
inline constexpr Named all_compressions[] = {NEARFAR_COMPRESSIONS(NEARFAR_NAMED)};

[[nodiscard]] constexpr const char* name_of(Compression compression) {
  return all_compressions[static_cast<std::size_t>(compression)].name;
}

}  // namespace nearfar::tier

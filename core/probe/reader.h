#pragma once

#include <cstdint>
#include <vector>

#include "probe/chunks.h"
#include "probe/team.h"

namespace nearfar::probe {

/// Follows a chain of single lines from `base` for `reads` loads, timed in chunks, unless the
/// member is told to stop.
[[nodiscard]] std::vector<Chunk> read_singly(std::byte* base, std::uint64_t reads,
                                             const Member& member);

}  // namespace nearfar::probe

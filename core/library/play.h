#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tick.h"
#include "library/memory.h"

namespace nearfar::library {

/// A stream of lines; the spans are equally long, but `times` may be empty: as soon as possible.
struct Arrivals {
  std::span<const std::uint64_t> addresses;
  std::span<const std::uint8_t> writes;  ///< 1 for a write
  std::span<const std::uint64_t> times;  ///< in ps, not before which a request enters
};

/// What became of each request, in the order of the stream.
struct Played {
  std::vector<std::uint64_t> accepted_ps;
  std::vector<std::uint64_t> done_ps;
};

/// Sends a stream in order, at most `outstanding` at a time (0: as many as the memory takes), and
/// waits for all of it: one that is refused holds up those behind it. `memory` has nothing
/// unfinished and no completion to be taken. Throws Misuse; then the requests before are under way.
[[nodiscard]] Played play(Memory& memory, const Arrivals& arrivals, std::uint64_t outstanding = 0);

}  // namespace nearfar::library

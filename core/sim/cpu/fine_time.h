#pragma once

#include <cstdint>

#include "base/tick.h"

namespace nearfar::sim::cpu {

/// Time inside a core, in 1/1024 of a picosecond: a cycle's fourth or sixth is whole to a part in
/// thirty thousand, so that neither the width nor the ports make it drift. 53 bits of picoseconds
/// are a hundred minutes.
///
/// A value of which only the producer is known has the highest bit set. So the latest of several
/// values is their maximum, and is known if all of them are.
using Fine = std::uint64_t;

inline constexpr Fine unknown_bit = Fine{1} << 63;
inline constexpr unsigned fine_bits = 10;

[[nodiscard]] constexpr bool known(Fine value) { return value < unknown_bit; }
[[nodiscard]] constexpr Fine fine(Tick time) { return time.ps() << fine_bits; }
/// The first picosecond that is not before `time`.
[[nodiscard]] constexpr Tick coarse(Fine time) {
  return Tick((time + ((Fine{1} << fine_bits) - 1)) >> fine_bits);
}

}  // namespace nearfar::sim::cpu

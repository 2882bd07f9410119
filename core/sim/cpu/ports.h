#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sim/cpu/fine_time.h"

namespace nearfar::sim::cpu {

/// The execution ports of a core, each of which begins one operation a cycle: those of Skylake
/// and its successors (Intel, Optimization Reference Manual, 2.5.2; Fog, "Microarchitecture",
/// chapter 11). 0, 1, 5 and 6 compute, 2 and 3 load, 4 stores.
///
/// The bits are in the order in which an operation takes the first that is free: what most
/// operations can use comes first, so that the ports that few can use stay free for those.
class Ports {
 public:
  using Mask = std::uint8_t;
  static constexpr Mask p5 = 1, p1 = 2, p0 = 4, p6 = 8, p2 = 16, p3 = 32, p4 = 64;
  static constexpr Mask any_alu = p5 | p1 | p0 | p6;
  static constexpr Mask load = p2 | p3;
  static constexpr Mask store = p4;

  explicit Ports(Tick period)
      : period_(fine(period)),
        cycles_per_fine_(~std::uint64_t{0} / period_ + 1),
        cycles_(remembered, ~std::uint64_t{0}) {}

  /// When an operation begins that is ready at `at` and needs one of `mask`; the port is taken.
  [[gnu::always_inline]] Fine take(Fine at, Mask mask) {
    std::uint64_t cycle = cycle_of(at);
    while (true) {
      std::uint64_t& here = cycles_[cycle % remembered];
      const std::uint64_t ports = here >> mask_bits == cycle ? here : cycle << mask_bits;
      const std::uint64_t free = mask & ~ports;
      if (free != 0) {
        here = ports | (free & -free);
        const Fine begin = cycle * period_;
        return begin > at ? begin : at;
      }
      ++cycle;
    }
  }

 private:
  static constexpr unsigned mask_bits = 8;
  /// Older cycles are forgotten. Operations that are ready further apart are parted by a miss,
  /// and what came before has begun long ago.
  static constexpr std::uint64_t remembered = 1024;

  /// Division by multiplication: exact, or one too many at the very end of a cycle, long after
  /// which the error would first show (2^64 fine units over a period's).
  [[nodiscard]] std::uint64_t cycle_of(Fine at) const {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(at) * cycles_per_fine_) >>
                                      64);
  }

  Fine period_;
  std::uint64_t cycles_per_fine_;
  std::vector<std::uint64_t> cycles_;  ///< the cycle's number, and below it the ports that are busy
};

}  // namespace nearfar::sim::cpu

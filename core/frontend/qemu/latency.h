#pragma once

#include <cstdint>
#include <string_view>

namespace nearfar::frontend::qemu {

/// The cost of an instruction once its operands are there.
struct Cost {
  std::uint8_t latency = 1;  ///< cycles
  std::uint8_t uops = 1;     ///< issue slots
};

/// By the instruction's name in lower case and its operand's width in bits. Latencies of
/// Skylake-SP and Cascade Lake, the processors that Optane DIMMs came with, as measured by Abel
/// and Reineke (uops.info, ASPLOS 2019), rounded to whole cycles; the division of 64 bits, which
/// depends on its operands, in the middle of its range.
[[nodiscard]] Cost cost_of(std::string_view name, unsigned width);

}  // namespace nearfar::frontend::qemu

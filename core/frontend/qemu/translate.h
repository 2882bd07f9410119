#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "frontend/qemu/decode.h"
#include "frontend/qemu/translated.h"

namespace nearfar::frontend::qemu {

/// An instruction, and how many bytes it takes.
struct Located {
  Decoded decoded;
  std::size_t size = 0;
};

/// The block of these instructions, the first of which is at `pc`. A comparison and the branch
/// behind it become one operation where processors make one of them.
[[nodiscard]] Translated translate(std::uint64_t pc, std::span<const Located> instructions);

}  // namespace nearfar::frontend::qemu

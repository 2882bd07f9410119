#pragma once

#include "tier/os/system.h"

namespace nearfar::tier {

/// What may be done to the memory at a place (PROT_READ...), as the kernel has it; -1 if it does
/// not tell, or nothing is mapped there.
[[nodiscard]] int protection_of(os::Place at) noexcept;

}  // namespace nearfar::tier

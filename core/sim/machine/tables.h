#pragma once

#include "base/settings.h"
#include "sim/cpu/config.h"

namespace nearfar::sim {

/// Where the page tables of a machine lie (`cpu.table.place`): at the end of its DRAM, or of all
/// its memory, or apart.
///
/// `memory` is what the model describes without a near tier, and `near` the bytes of the tier in
/// front of it, 0 without. Throws InputError when the place is not known.
[[nodiscard]] cpu::TableConfig tables_of(const Settings& settings, Bytes memory, Bytes near = 0);

/// A core's configuration with its page tables in place.
[[nodiscard]] cpu::Config core_of(const Settings& settings, Bytes memory, Bytes near = 0);

}  // namespace nearfar::sim

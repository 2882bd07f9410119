#pragma once

#include <cstdint>
#include <istream>
#include <vector>

#include "base/address.h"
#include "frontend/space.h"

namespace nearfar::frontend::qemu {

/// A range of a process's memory and what lies behind it.
struct Loaded {
  Address begin;
  Bytes bytes = 0;
  Mapping kind = Mapping::memory;
};

/// The ranges that a process finds in its memory before it runs: QEMU maps the program, the dynamic
/// linker and the stack without a system call of the guest's. `maps` is the text of
/// /proc/self/maps, in which guest addresses are QEMU's own.
///
/// Memory without a name is a stack behind a page without access, and a program's variables
/// behind its file.
[[nodiscard]] std::vector<Loaded> loaded_ranges(std::istream& maps);

}  // namespace nearfar::frontend::qemu

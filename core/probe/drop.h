#pragma once

#include <cstdint>

#include "probe/chase.h"

namespace nearfar::probe {

/// Lines are loaded, or loaded and changed, and then thrown out of the caches one after the
/// other, which is what is timed: a changed line has to be written back first.
struct DropRequest {
  std::uint64_t lines = 64;  ///< dropped in one timing
  bool changes = false;
  std::uint64_t chunks = 64;
  int cpu = 0;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("lines", self.lines);
    visit("changes", self.changes);
    visit("chunks", self.chunks);
    visit("cpu", self.cpu);
  }
};

/// Throws InputError when `memory` is smaller than the lines.
[[nodiscard]] Timings drop(const Memory& memory, const DropRequest& request, const Poll& poll);

}  // namespace nearfar::probe

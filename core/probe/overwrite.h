#pragma once

#include <cstdint>
#include <vector>

#include "probe/isa.h"
#include "probe/memory.h"
#include "probe/team.h"

namespace nearfar::probe {

/// Writes of 256 B, the access of the medium, each fenced and timed, going round a region.
struct OverwriteRequest {
  Bytes region = 256;
  std::uint64_t writes = 0;
  Op op = Op::nt_store;
  Fence fence = Fence::mfence;
  int cpu = 0;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("region", self.region);
    visit("writes", self.writes);
    visit("op", self.op);
    visit("fence_kind", self.fence);
    visit("cpu", self.cpu);
  }
};

struct OverwriteTimes {
  std::vector<double> ns;  ///< one a write, in order
  Disturbance disturbance;
};

[[nodiscard]] OverwriteTimes overwrite(const Memory& memory, const OverwriteRequest& request,
                                       const Poll& poll);

}  // namespace nearfar::probe

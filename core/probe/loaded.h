#pragma once

#include <cstdint>
#include <vector>

#include "probe/chase.h"

namespace nearfar::probe {

/// Dependent loads of random lines, one at a time, beside generators that load the memory at a
/// chosen rate: one point of a bandwidth-latency curve.
struct LoadedRequest {
  Op op = Op::store;  ///< of the generators' stores
  std::uint32_t stores = 0;  ///< among `accesses` of a generator, evenly
  std::uint32_t accesses = 1;
  double pause_ns = 0;  ///< from one access of a generator to its next, in the mean, at least
  Bytes area = 0;       ///< a thread's
  std::uint64_t reads = 0;
  std::uint64_t seed = 1;
  std::vector<int> cpus;  ///< the first reads, all others generate the load

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("stores", self.stores);
    visit("accesses", self.accesses);
    visit("pause_ns", self.pause_ns);
    visit("area", self.area);
    visit("reads", self.reads);
    visit("seed", self.seed);
    visit("cpus", self.cpus);
  }
};

/// What the reader measured, and the lines a nanosecond that all generators accessed meanwhile.
struct LoadedTimings {
  std::vector<Chunk> reader;
  double loads_per_ns = 0;
  double stores_per_ns = 0;
  Disturbance disturbance;
};

[[nodiscard]] LoadedTimings loaded(const Memory& memory, const LoadedRequest& request,
                                   const Poll& poll);

}  // namespace nearfar::probe

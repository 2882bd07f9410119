#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "probe/chase.h"

namespace nearfar::probe {

/// What a line holds.
struct alignas(line_bytes) LineValue {
  std::array<std::byte, line_bytes> bytes{};
};

/// Independent accesses at full speed, each thread in its own area.
struct StreamRequest {
  Op op = Op::load;
  Bytes access = line_bytes;
  Bytes stride = 0;  ///< 0: random
  Bytes area = 0;  ///< a thread's
  std::uint32_t reads_percent = 0;  ///< loads among the accesses of a storing `op`
  Bytes fence_every = 0;
  Fence fence = Fence::sfence;
  std::optional<LineValue> value{};  ///< that stores write; none: they count
  std::optional<LineValue> held{};   ///< that every line holds before
  std::uint64_t lines = 0;  ///< of one thread
  std::uint64_t seed = 1;
  std::vector<int> cpus;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("access", self.access);
    visit("stride", self.stride);
    visit("area", self.area);
    visit("reads_percent", self.reads_percent);
    visit("fence_every", self.fence_every);
    visit("fence_kind", self.fence);
    visit("value", self.value);
    visit("held", self.held);
    visit("lines", self.lines);
    visit("seed", self.seed);
    visit("cpus", self.cpus);
  }
};

[[nodiscard]] Timings stream(const Memory& memory, const StreamRequest& request, const Poll& poll);

/// Dependent loads of random lines, one at a time, beside threads that load the memory.
struct ContentionRequest {
  bool chases = false;   ///< the others do as the reader does; otherwise they access at random
  Op op = Op::nt_store;  ///< of the others' random accesses
  /// From one of another's accesses to its next, at least; of one that chases, from the answer.
  double delay_ns = 0;
  Bytes area = 0;        ///< a thread's
  std::uint64_t reads = 0;
  std::uint64_t seed = 1;
  std::vector<int> cpus;  ///< the first reads, all others disturb it

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("chases", self.chases);
    visit("op", self.op);
    visit("delay_ns", self.delay_ns);
    visit("area", self.area);
    visit("reads", self.reads);
    visit("seed", self.seed);
    visit("cpus", self.cpus);
  }
};

/// What the reader measured, and what the others moved in the meantime, in bytes a nanosecond.
struct ContentionTimings {
  std::vector<Chunk> reader;
  double other_gb_per_s = 0;
  Disturbance disturbance;
};

[[nodiscard]] ContentionTimings contention(const Memory& memory, const ContentionRequest& request,
                                           const Poll& poll);

}  // namespace nearfar::probe

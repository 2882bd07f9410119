#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/chunks.h"
#include "probe/kernels.h"
#include "probe/memory.h"
#include "probe/team.h"

namespace nearfar::probe {

/// Where fences stand.
enum class FencePlace : std::uint8_t { none, region, block };

/// The requests. `visit_fields` calls `visit(name, field)` for each field that may be set, by the
/// name that a pattern's option has on the command line; front ends fill requests in through it.

/// A walk through the blocks of a region in a random cyclic order.
struct ChaseRequest {
  Bytes region = 0;  ///< bytes of blocks; they span region / block * stride
  Bytes block = line_bytes;
  Bytes stride = line_bytes;
  Op op = Op::nt_load;
  bool read_after_write = false;  ///< `op` stores to a region, then non-temporal loads read it
  bool repeat = false;            ///< one region again and again, or consecutive ones
  FencePlace fence_place = FencePlace::region;
  Fence fence = Fence::mfence;
  Successor successor = Successor::lines;
  std::uint64_t lines = 0;         ///< at least so many a thread, in whole regions
  std::uint64_t least_chunks = 0;  ///< repeated walks go on until there are so many
  std::uint64_t seed = 1;
  std::vector<int> cpus;  ///< one thread for each

  [[nodiscard]] std::uint64_t blocks() const { return region / block; }
  [[nodiscard]] std::uint64_t region_lines() const { return region / line_bytes; }
  [[nodiscard]] Bytes span() const { return blocks() * stride; }
  [[nodiscard]] std::uint64_t regions() const;
  /// Bytes of memory that all threads together walk.
  [[nodiscard]] Bytes footprint() const;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("region", self.region);
    visit("block", self.block);
    visit("stride", self.stride);
    visit("op", self.op);
    visit("read_after_write", self.read_after_write);
    visit("repeat", self.repeat);
    visit("fence", self.fence_place);
    visit("fence_kind", self.fence);
    visit("successors", self.successor);
    visit("lines", self.lines);
    visit("least_chunks", self.least_chunks);
    visit("seed", self.seed);
    visit("cpus", self.cpus);
  }
};

/// What the threads of one repetition measured.
struct Timings {
  std::vector<std::vector<Chunk>> threads;
  Disturbance disturbance;
};

/// One repetition. Throws InputError when `memory` is smaller than the footprint.
[[nodiscard]] Timings chase(const Memory& memory, const ChaseRequest& request, const Poll& poll);

/// Dependent loads along chosen offsets of `memory`, in the order given, round and round: a
/// first pass to warm, then chunks of about `chunk_ns`. The offsets are multiples of 8, or of a
/// line where lines are changed.
struct FollowRequest {
  std::vector<std::uint64_t> offsets;
  bool changes = false;  ///< each line after it has been loaded: then its eviction is a write
  std::uint64_t chunks = 32;
  double chunk_ns = 50'000;
  std::uint64_t warm_passes = 2;
  int cpu = 0;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("offsets", self.offsets);
    visit("changes", self.changes);
    visit("chunks", self.chunks);
    visit("chunk_ns", self.chunk_ns);
    visit("warm_passes", self.warm_passes);
    visit("cpu", self.cpu);
  }
};

[[nodiscard]] Timings follow(const Memory& memory, const FollowRequest& request, const Poll& poll);

}  // namespace nearfar::probe

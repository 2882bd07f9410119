#pragma once

#include <cstdint>
#include <string>

#include "probe/chase.h"

namespace nearfar::probe {

/// A loop that shows one property of this processor's core by how long a round takes.
///
/// `name` is one of
/// * add_chain, multiply_chain: dependent instructions; a round is one;
/// * adds, multiplies, loads: independent ones, the loads from L1;
/// * steady_branches, random_branches: a conditional branch that never goes another way, and one
///   that does so at random; a round is one branch and what leads to it;
/// * nops, stores: two loads that follow chains of their own through the memory, with `count`
///   instructions between them; a round is both loads;
/// * chains: `count` loads, each along a chain of its own; a round is all of them;
/// * lines: one load from each line of the memory in order; a round is a line.
struct CoreLoopRequest {
  std::string name;
  std::uint64_t count = 0;
  bool linked = false;  ///< an earlier loop has laid the chains through this memory
  std::uint64_t chunks = 32;
  double chunk_ns = 100'000;
  std::uint64_t seed = 1;
  int cpu = 0;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("count", self.count);
    visit("linked", self.linked);
    visit("chunks", self.chunks);
    visit("chunk_ns", self.chunk_ns);
    visit("seed", self.seed);
    visit("cpu", self.cpu);
  }
};

/// The most instructions between two loads; their number is a multiple of `between_step`.
inline constexpr std::uint64_t most_between = 640;
inline constexpr std::uint64_t between_step = 8;
inline constexpr std::uint64_t most_chains = 48;

/// Chunks of rounds. Throws InputError for a loop that there is not, or a count that it cannot
/// have.
[[nodiscard]] Timings core_loop(const Memory& memory, const CoreLoopRequest& request,
                                const Poll& poll);

}  // namespace nearfar::probe

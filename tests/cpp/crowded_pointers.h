#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/rng.h"
#include "machine_fixture.h"

namespace nearfar::sim::testing {

/// A random machine with Pre-translation and everything small, so that whatever may be full often
/// is.
inline Overrides crowded(std::uint64_t seed) {
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<const char*> values) {
    return std::string(values.begin()[rng.below(values.size())]);
  };
  return {{"nvdimm.pretranslation.enabled", "true"},
          {"cpu.page", "4096"},
          {"cpu.l1.size", "4096"},
          {"cpu.l2.size", "16384"},
          {"cpu.l3.size", "67584"},
          {"cpu.l3.slices", "3"},
          {"cpu.l3.inclusive", one_of({"false", "true"})},
          {"cpu.tlb.l1.entries", "8"},
          {"cpu.tlb.l2.entries", "24"},
          {"cpu.tlb.walkers", one_of({"1", "2", "4"})},
          {"cpu.table.place", one_of({"apart", "memory"})},
          {"cpu.table.latency", one_of({"20000", "81000", "400000"})},
          {"cpu.prefetch.adjacent", one_of({"false", "true"})},
          {"imc.rpq.lines", one_of({"2", "4", "44"})},
          {"imc.wpq.lines", one_of({"1", "8"})},
          {"channels", one_of({"1", "2"})},
          {"nvdimm.wear.writes", "40"},
          {"nvdimm.buffer.2.entries", one_of({"16", "4096"})},
          {"nvdimm.pretranslation.table", one_of({"1024", "16777216"})},
          {"nvdimm.pretranslation.slots", one_of({"1", "4", "8", "32"})},
          {"nvdimm.pretranslation.policy", one_of({"lru", "fifo", "random"})},
          {"nvdimm.pretranslation.rlb.size", one_of({"8", "64", "1024"})},
          {"cpu.pretranslation.walk_starts", one_of({"arrival", "use"})},
          {"cpu.pretranslation.on_cache_hit", one_of({"none", "probe"})},
          {"cpu.pretranslation.speculate", one_of({"false", "true"})},
          {"cpu.pretranslation.entries", one_of({"1", "16"})}};
}

}  // namespace nearfar::sim::testing

#pragma once

#include <cstdint>
#include <string>

#include "machine_fixture.h"

/// Machines with a Lazy cache.
namespace nearfar::sim::testing {

/// A random machine, as random_optane() makes it, whose blocks move often and whose Lazy cache is
/// too small for what is admitted.
inline Settings random_lazy(std::uint64_t seed) {
  Settings settings = random_optane(seed);
  Rng rng(seed ^ 0x1a2b);
  const Bytes access = settings.bytes("nvdimm.media.access");
  const Bytes entry = access == 64 || rng.below(3) == 0 ? 64 : 128;
  const std::uint64_t entries = 1 + rng.below(4);
  apply(settings, {{"nvdimm.lazy.enabled", "true"},
                   {"nvdimm.lazy.lz1.size", std::to_string(64 * (1 + rng.below(entries)))},
                   {"nvdimm.lazy.lz2.entry", std::to_string(entry)},
                   {"nvdimm.lazy.lz2.size", std::to_string(entry * entries)},
                   {"nvdimm.lazy.threshold", rng.below(2) == 0 ? "0" : "0.05"},
                   {"nvdimm.lazy.priority", rng.below(3) == 0 ? "count" : "rate"},
                   {"nvdimm.lazy.age", rng.below(2) == 0 ? "0" : "3000000"},
                   {"nvdimm.wear.writes", rng.below(2) == 0 ? "3" : "20"},
                   {"nvdimm.wear.spares", std::to_string(1 + rng.below(4))},
                   {"nvdimm.wear.stall", rng.below(2) == 0 ? "100000" : "2000000"}});
  return settings;
}

}  // namespace nearfar::sim::testing

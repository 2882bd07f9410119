#pragma once

#include <string>

#include "machine_fixture.h"

/// Machines with near memory, for its tests.
namespace nearfar::sim::testing {

/// The keys of `near` in `optane-memory-mode`, with a near memory of 64 KiB on one channel.
inline constexpr const char* near_settings = R"(
near.kind = cache
near.channels = 1
near.interleave = 4096
near.capacity = 65536
near.line = 64
near.ways = 1
near.policy = lru
near.tags = ecc
near.write = back
near.dirty = line
near.inclusive = true
near.write_fetch = false
near.prefetch = none
near.app_direct = 0
near.latency = 2000
near.queue.read = 64
near.queue.write = 64
)";

/// A near memory in front of Optane. Its DRAM is like that on the DIMM.
inline Settings near_optane(const Overrides& overrides = {}) {
  const std::string far(optane_settings);
  Settings settings = Settings::parse(far + near_settings).moved("nvdimm.dram.", "near.dram.");
  apply(settings, overrides);
  return settings;
}

inline std::uint64_t counter(const Device& device, const std::string& name) {
  return counters_of(device).at(name);
}

/// The sum of a counter over the channels of near DRAM.
inline std::uint64_t near_dram(const Device& device, const std::string& name) {
  std::uint64_t sum = 0;
  for (const auto& [full, value] : counters_of(device)) {
    if (full.starts_with("near.channel.") && full.ends_with(".dram." + name)) sum += value;
  }
  return sum;
}

}  // namespace nearfar::sim::testing

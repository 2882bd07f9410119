#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/histogram.h"
#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim {

/// The latency of single reads beside generators of a load, without a pause, with pauses that offer
/// even parts of that rate, and without generators: one curve
/// of a bandwidth-latency family (Esmaili-Dokht et al., "A Mess of Memory System Benchmarking,
/// Simulation and Application Profiling", MICRO 2024).
struct LoadedPattern {
  std::string op = "store";  ///< of the generators' stores
  std::uint32_t stores = 0;  ///< among `accesses` of a generator
  std::uint32_t accesses = 1;
  std::uint32_t threads = 1;  ///< generators
  Bytes area = 0;  ///< a thread's
  std::uint64_t reads = 0;  ///< at each rate
  std::uint32_t parts = 1;  ///< rates with a pause

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("stores", self.stores);
    visit("accesses", self.accesses);
    visit("threads", self.threads);
    visit("area", self.area);
    visit("reads", self.reads);
    visit("parts", self.parts);
  }
};

/// What was measured at one rate; the counters are the memory's, over the counted reads.
struct LoadedPoint {
  Tick pause{};  ///< of a generator after each access
  Tick elapsed{};
  Histogram latency;
  std::vector<Counters::Reading> counters;
};

/// Throws InputError for a pattern that the machine cannot run.
[[nodiscard]] std::vector<LoadedPoint> measure(const Settings& settings,
                                               const LoadedPattern& pattern,
                                               const std::function<void()>& poll = {});

}  // namespace nearfar::sim

#pragma once

#include <cstdint>

namespace nearfar::probe {

/// What others did to a thread while it measured.
struct Disturbance {
  std::uint64_t involuntary_switches = 0;
  double stolen_ns = 0;  ///< time the hypervisor took from the processor, in steps of 10 ms
};

/// Counts from its construction on, for the calling thread, pinned to `cpu`.
class DisturbanceMeter {
 public:
  explicit DisturbanceMeter(int cpu);
  [[nodiscard]] Disturbance since() const;

 private:
  int cpu_;
  Disturbance start_;
};

}  // namespace nearfar::probe

#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "sim/device.h"

namespace nearfar::sim::cpu {

/// The way from the cores to the memory controller's queues.
///
/// A line that finds its queue full waits here. On a mesh no order holds among those that
/// wait: each retries on its own, so the one that gets in when a place frees is any of them
/// (`random_retry`), else the oldest. That disorder is what spreads the lines of one 256 B
/// block far apart in time when too many threads share a DIMM, and the reason why the
/// effective read and write ratios of the OptaneStudy sweep fall with the thread count.
class Uncore {
 public:
  Uncore(Device& device, bool random_retry, std::uint64_t seed)
      : device_(device), random_retry_(random_retry), rng_(seed) {}

  /// Takes a request; it will reach the device, now or later.
  void send(Request request, Tick now);

  /// The device has a place for `port`.
  void wake(std::uint16_t port, Tick now);

 private:
  Device& device_;
  bool random_retry_;
  Rng rng_;
  std::vector<std::vector<Request>> waiting_;  ///< by port: two a queue, reads and writes
};

}  // namespace nearfar::sim::cpu

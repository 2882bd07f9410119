#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "sim/device.h"

namespace nearfar::sim::cpu {

/// The way from the cores to the memory controller's queues.
///
/// A line that finds its queue full waits here, at its stop of the mesh: at its core, or at the
/// slice of the L3 that throws it out. Nothing keeps the lines in order: when a place frees, any
/// stop may get it, and of that stop's lines any of the oldest `reorder`. That disorder spreads
/// the lines of one 256 B block apart in time when too many threads share a DIMM; it is why the
/// effective read and write ratios of the OptaneStudy sweep fall with the thread count.
class Uncore {
 public:
  /// Reorder 0: no disorder at all, lines enter in order of arrival.
  Uncore(Device& device, std::uint32_t reorder_reads, std::uint32_t reorder_writes,
         std::uint64_t seed)
      : device_(device), reorder_{reorder_reads, reorder_writes}, rng_(seed) {}

  /// Takes a request from `stop`; it will reach the device, now or later.
  void send(Request request, std::uint16_t stop, Tick now);

  /// Whether lines already wait for the queue of a read at `address`.
  [[nodiscard]] bool reads_wait(Address address) const {
    const std::uint32_t port = 2 * device_.queue_of(address);
    return port < waiting_.size() && !waiting_[port].stops.empty();
  }

  /// As Device's, of a read that was sent, whether it waits here or has reached the device.
  void resolve(const Request& request, bool right, Tick now);

  /// The device has a place for `port`.
  void wake(std::uint16_t port, Tick now);

 private:
  /// The lines that wait for one queue, by stop, oldest first.
  struct Waiting {
    std::vector<std::vector<Request>> of_stop;
    std::vector<std::uint16_t> stops;  ///< those with lines
  };

  Device& device_;
  std::uint32_t reorder_[2];  ///< of reads, of writes
  Rng rng_;
  std::vector<Waiting> waiting_;  ///< by port: two a queue, reads and writes
};

}  // namespace nearfar::sim::cpu

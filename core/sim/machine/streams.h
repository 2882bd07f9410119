#pragma once

#include <cstdint>

#include "base/rng.h"
#include "sim/device.h"
#include "sim/machine/requester.h"

namespace nearfar::sim {

/// A synthetic stream of line accesses, for benchmarks and tests.
struct Stream {
  enum class Order : std::uint8_t { sequential, random };

  Order order = Order::random;
  std::uint32_t reads_percent = 100;
  std::uint32_t outstanding = 64;  ///< requests in flight at most, > 0
  Bytes area = 0;                  ///< addresses below it; 0: the device's capacity
  std::uint64_t seed = 1;

  [[nodiscard]] static constexpr Stream sequential_read() { return {.order = Order::sequential}; }
  [[nodiscard]] static constexpr Stream random_read() { return {}; }
  /// Every read waits for the one before it, as when its address comes from it.
  [[nodiscard]] static constexpr Stream dependent_chase() { return {.outstanding = 1}; }
  [[nodiscard]] static constexpr Stream mixed() { return {.reads_percent = 70}; }
};

/// Plays a Stream on a device as fast as both allow, in as many pieces as the caller
/// likes: the pieces make one stream.
class StreamDriver {
 public:
  /// `device` must outlive the driver and hold at least one line, and so must the area.
  StreamDriver(Device& device, const Stream& stream)
      : stream_(stream),
        lines_((stream.area == 0 ? device.capacity() : stream.area) / line_bytes),
        rng_(stream.seed),
        requester_(device, {.outstanding = stream.outstanding}) {}

  /// Sends `count` more requests; those in flight at the end stay in flight.
  void run(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) requester_.send(next_address(), next_op());
  }

  /// Waits for what is in flight.
  void drain() { requester_.drain(); }

  [[nodiscard]] std::uint64_t requests() const { return requester_.totals().requests(); }
  /// From the first request, at time 0, to the last completion so far.
  [[nodiscard]] Tick elapsed() const { return requester_.totals().last_done; }
  /// 10^9 bytes a second over elapsed(); 0 when no time has passed.
  [[nodiscard]] double gb_per_s() const {
    return elapsed() == Tick{} ? 0 : static_cast<double>(requests() * line_bytes) / elapsed().ns();
  }
  [[nodiscard]] const Requester& requester() const { return requester_; }

 private:
  Address next_address() {
    if (stream_.order == Stream::Order::random) return Address(rng_.below(lines_) * line_bytes);
    const Address address(next_line_ * line_bytes);
    if (++next_line_ == lines_) next_line_ = 0;
    return address;
  }

  Op next_op() {
    if (stream_.reads_percent >= 100) return Op::read;
    return rng_.below(100) < stream_.reads_percent ? Op::read : Op::write;
  }

  Stream stream_;
  std::uint64_t lines_;
  std::uint64_t next_line_ = 0;
  Rng rng_;
  Requester requester_;
};

}  // namespace nearfar::sim

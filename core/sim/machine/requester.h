#pragma once

#include <cstdint>
#include <vector>

#include "base/histogram.h"
#include "sim/device.h"

namespace nearfar::sim {

/// Sends lines to a device through one port, in order, and accounts for every one.
///
/// Time passes only in here: in advance_to(), and wherever the sender has to wait, for a
/// place among the outstanding requests, for a device that refused, for one request.
/// Requests that complete twice, never, with a strange id or address are the device's
/// fault: std::logic_error.
class Requester {
 public:
  struct Options {
    std::uint32_t outstanding = 0;  ///< requests in flight at most; 0: what the device takes
    bool tell_media = false;        ///< follow writes to the media and wait for that, too
    std::uint16_t port = 0;
  };

  /// What was sent, and what became of it.
  struct Totals {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t media_writes = 0;  ///< writes seen to reach the media (tell_media)
    Tick last_done;                  ///< when the last completion so far came
  };

  Requester(Device& device, const Options& options) : device_(device), options_(options) {}

  [[nodiscard]] Tick now() const { return now_; }

  /// Lets time pass until `time`; nothing when that is in the past.
  void advance_to(Tick time);

  /// Sends one line, as soon as that is possible; now() is then when it was accepted.
  /// Returns the request's id.
  std::uint64_t send(Address address, Op op);

  /// Lets time pass until that request has completed.
  void wait_for(std::uint64_t id);

  /// Lets time pass until nothing is in flight.
  void drain();

  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// Read latencies in ps, from acceptance to completion.
  [[nodiscard]] const Histogram& read_latency() const { return read_latency_; }

 private:
  /// A request in flight. Slots are reused; an id is the slot and a serial number, so a
  /// completion that comes twice is told from one for the slot's next request.
  struct Flight {
    std::uint64_t id = free_slot;
    Address address;
    Tick sent;
    Op op = Op::read;
    bool done = false;
    bool awaits_media = false;
  };
  static constexpr std::uint64_t free_slot = ~std::uint64_t{0};
  static constexpr int slot_bits = 32;
  static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;

  [[nodiscard]] std::uint32_t take_slot();
  void step();
  void wait_for_wake();
  void collect();
  [[nodiscard]] Flight& flight_of(const Completion& completion);
  void settle(Flight& flight, const Completion& completion);

  Device& device_;
  Options options_;
  Tick now_;
  bool woken_ = false;
  std::uint64_t serial_ = 0;
  std::uint64_t waiting_ = 0;        // requests without their `done`
  std::uint64_t media_waiting_ = 0;  // writes without their `media`
  std::vector<Flight> flights_;
  std::vector<std::uint32_t> free_slots_;
  Sink sink_;
  Totals totals_;
  Histogram read_latency_;
};

}  // namespace nearfar::sim

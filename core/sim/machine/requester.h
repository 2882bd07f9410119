#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/histogram.h"
#include "sim/device.h"
#include "sim/machine/traffic.h"

namespace nearfar::sim {

/// Sends lines to a device in order, and accounts for every one. A line that one port
/// refuses holds up those for the others.
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

  /// Counts of requests sent, and of how they ended.
  struct Totals {
    std::array<std::uint64_t, 2> sent{};  ///< by operation
    std::uint64_t media_writes = 0;       ///< writes that reached the media (tell_media)
    Tick last_done;                       ///< when the last completion so far came

    [[nodiscard]] std::uint64_t reads() const { return sent[index(Op::read)]; }
    [[nodiscard]] std::uint64_t writes() const { return sent[index(Op::write)]; }
    [[nodiscard]] std::uint64_t requests() const { return sent[0] + sent[1]; }
  };

  Requester(Device& device, const Options& options);

  [[nodiscard]] Tick now() const { return now_; }

  /// Lets time pass until `time`; nothing when that is in the past.
  void advance_to(Tick time);

  /// Sends one line, as soon as that is possible; now() is then when it was accepted.
  /// Returns the request's id.
  std::uint64_t send(Address address, Op op);

  /// From here on through that port, on behalf of that thread.
  void use_port(std::uint16_t port, std::uint16_t thread) {
    request_.port = port;
    thread_ = thread;
  }

  /// Lets time pass until that request has completed.
  void wait_for(std::uint64_t id);

  /// Lets time pass until the writes sent for that thread have completed; `reads`: these too.
  void wait_for_thread(std::uint16_t thread, bool reads);

  /// Lets time pass until nothing is in flight.
  void drain();

  /// The same, and then until the device holds no request any more: writes that it accepted have
  /// left its queues.
  void empty_queues();

  /// Brings the device's sums over time up to now().
  void settle() { settle_at(device_, now_); }

  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// Resets the counts. Nothing may be in flight.
  void forget() {
    totals_ = {};
    seen_ = {};
  }
  /// What has completed over time is counted from then on; time must not have passed it.
  void count_traffic_from(Tick begin) { seen_.traffic.restart(begin); }

  /// Read latencies in ps, from acceptance to completion.
  [[nodiscard]] const Histogram& read_latency() const { return seen_.read_latency; }
  /// Lines by the time at which they completed.
  [[nodiscard]] Traffic::Series traffic() const { return seen_.traffic.series(); }

 private:
  /// A request in flight. Slots are reused; an id is the slot and a serial number, so a
  /// completion that comes twice is told from one for the slot's next request.
  struct Flight {
    std::uint64_t id = 0;
    Address address;
    Tick sent;
    std::uint32_t next_free = no_slot;
    std::uint16_t thread = 0;
    std::uint8_t awaited = 0;  // of await_done and await_media
    Op op = Op::read;
  };
  static constexpr std::uint8_t await_done = 1;
  static constexpr std::uint8_t await_media = 2;
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  static constexpr std::uint64_t next_serial = std::uint64_t{1} << 32;

  [[nodiscard]] static constexpr std::size_t index(Op op) { return static_cast<std::size_t>(op); }
  [[nodiscard]] std::uint64_t media_waiting() const;
  void step();
  void waited(Tick taken, Flight& flight);
  void collect(Tick until);
  [[noreturn, gnu::cold, gnu::noinline]] void forgotten() const;
  void add_slot();

  Device& device_;
  std::uint64_t limit_;
  std::array<std::uint8_t, 2> awaits_ = {await_done, await_done};  // by operation
  Request request_;                                                // the last one sent
  std::uint16_t thread_ = 0;                                       // and its thread
  Tick now_;
  std::uint64_t serial_ = 0;
  std::uint64_t waiting_ = 0;  // requests without their `done`
  std::vector<Flight> flights_;
  std::uint32_t first_free_ = no_slot;
  Sink sink_;
  Totals totals_;
  struct Seen {
    Histogram read_latency;
    Traffic traffic;
  } seen_;
};

}  // namespace nearfar::sim

#pragma once

#include <cstdint>

#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim::link {

/// A link between the processor and a memory that is not on its own memory bus.
///
/// Messages are made of slots of 16 bytes, as on CXL, where four slots and their header and
/// check bytes make a flit; a processor interconnect is described by the same figures. Each
/// direction carries one slot in `slot`. What a message needs is a count of slots: on CXL.mem
/// a read is one slot out and a line with its header five slots back; a write is five slots
/// out and an acknowledgement back.
struct Config {
  Tick request_latency{};   ///< from the processor to the device, an empty link's
  Tick response_latency{};  ///< back
  Tick slot{};              ///< bus time of 16 bytes, each direction its own
  std::uint32_t read_request_slots = 0;
  std::uint32_t read_response_slots = 0;
  std::uint32_t write_request_slots = 0;
  std::uint32_t write_response_slots = 0;
  std::uint32_t read_credits = 0;  ///< reads the device's port takes before it has passed one on
  std::uint32_t write_credits = 0;  ///< writes likewise
  /// Messages there and back before a write's data may go: another socket's memory is first
  /// asked for ownership of the line.
  std::uint32_t write_round_trips = 0;
  bool directory = false;  ///< the memory's side keeps a Directory, in the memory itself
  /// What a read whose line changes its state there waits for, beyond the read.
  Tick directory_latency{};
  double seen = 0;  ///< share of the pages that this socket has read before, and not written
  std::uint64_t seed = 0;
  double bit_pj = 0;  ///< of each bit that is sent, both ends together
  double idle_share = 0;  ///< of that, for each bit that could have been sent and was not
};

/// Reads the keys `link.*`. Throws InputError when one is missing or impossible.
[[nodiscard]] Config config_from(const Settings& settings);

}  // namespace nearfar::sim::link

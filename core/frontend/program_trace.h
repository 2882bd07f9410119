#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/tick.h"
#include "frontend/engine.h"
#include "trace/header.h"

namespace nearfar::frontend {

// nearfar's own format, version 2: what the threads of a program executed, at virtual addresses,
// and how its memory was mapped, as an Engine is told it. Before compression: the header line, then
// events, each of a tag byte and what it announces. Numbers are the varints of version 1
// (trace/packed.h).
//
// An event is of the thread that was named last (thread 0 at first), where it is of a thread.

/// The tag of an event, and what follows it.
enum class ProgramEvent : std::uint8_t {
  /// A block, whose number is how many were defined before: the signed difference of its first
  /// address from that of the block before; its length in bytes; the signed difference of its
  /// target from its first address; how it ends; the number of its instructions, and of each 13
  /// bytes: kind, latency, slots, whether it jumps, then registers: four sources, two of the
  /// address, three destinations.
  block = 0,
  /// The thread executes a block: its number, the number of accesses, and of each: the signed
  /// difference of the instruction's index from the last one's, times 4, with 1 for a store and 2
  /// for what a marked load has loaded; its size; the signed difference of its address from the
  /// thread's last. Of a marked load the address is where it leads, and the size 0.
  run = 1,
  thread = 2,  ///< the number of the thread that the events behind are of
  begins = 3,  ///< a new thread: the signed difference in ps from where the furthest thread is
  ends = 4,
  skips = 5,  ///< so many instructions pass that are not known
  leaves = 6,  ///< into the kernel
  returns = 7,  ///< from there, so many ps behind the thread's clock
  looks = 8,  ///< at a clock, so that all before it has to be done
  maps = 9,  ///< address, bytes, and of what kind (Mapping)
  unmaps = 10,  ///< address, bytes
  remaps = 11,  ///< address, bytes, new address, new bytes
  flushes = 12,  ///< what the caches hold of a range is written back: address, bytes
  begins_region = 13,  ///< the report is of what lies between
  ends_region = 14,
  /// A page lies in a frame from now on: the page's first address / 4096, times 2, with 1 for one
  /// of
  /// 2 MiB, and the frame's address / 4096. The event before it has caused that, or one before.
  frame = 15,
  end = 22,  ///< of the trace: the number of events. As in version 1
};
inline constexpr std::size_t program_events = 16;  ///< but the end

/// The threads, the instructions passed over at once, and the time of a trace that a reader takes
/// for real. Cores count 53 bits of picoseconds (sim/cpu/fine_time.h).
inline constexpr std::uint64_t most_threads = 0xffff;
inline constexpr std::size_t most_alive = 4096;
inline constexpr std::uint64_t most_skipped = std::uint64_t{1} << 40;
/// What is written back at once.
inline constexpr Bytes most_flushed = Bytes{64} << 30;
inline constexpr Tick latest{std::uint64_t{1} << 52};  // 75 minutes

/// An engine that does as `inner` does and writes down all that it is told. `take` gets pieces of
/// whole events; the trace is all of them and an end, which is the taker's to write.
[[nodiscard]] std::unique_ptr<Engine> make_recording_engine(
    std::unique_ptr<Engine> inner, trace::Header header,
    std::function<void(std::string_view piece, std::uint64_t events)> take);

}  // namespace nearfar::frontend

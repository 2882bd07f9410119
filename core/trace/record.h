#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"

namespace nearfar::trace {

/// The operation of a record.
enum class Access : std::uint8_t {
  read,
  write,
  nt_write,     ///< past the caches
  flush,        ///< a line written back
  store_fence,  ///< the thread waits until its writes and flushes are persistent
  full_fence,   ///< the same, and until its reads have completed
};
inline constexpr std::size_t access_kinds = 6;

[[nodiscard]] constexpr bool is_fence(Access access) { return access >= Access::store_fence; }

/// One record of a trace, whatever format it came in: a memory access, or a fence.
struct Record {
  Address address{};  ///< 0 for a fence
  /// In the unit of the trace (see Timing): clock cycles from the start of the trace when
  /// `absolute`, otherwise from the moment at which the record before it entered memory; or
  /// instructions that the thread executed since its last record, including the record's own.
  std::uint64_t cycles = 0;
  /// Position in the trace, for messages: the line of a text, else the number of the record.
  std::uint64_t line = 0;
  /// Bytes touched from `address` on. In formats without a size any byte of a cache line stands
  /// for the line, and this is 1; so it is for a fence.
  std::uint32_t size = 1;
  std::uint16_t thread = 0;
  Access access = Access::read;
  bool absolute : 1 = false;
  /// Nothing later enters the memory before this access has completed.
  bool blocks : 1 = false;

  friend bool operator==(const Record&, const Record&) = default;
};
static_assert(sizeof(Record) == 32, "a trace is many of them");

/// The largest `size` a trace may give: a page.
inline constexpr std::uint32_t max_access_bytes = 4096;

/// Where the addresses of a trace point.
enum class Kind : std::uint8_t {
  memory,   ///< physical addresses, as they reach the memory
  program,  ///< virtual addresses, as a program uses them, before any cache
};

/// What the gaps of a trace count.
enum class Counts : std::uint8_t { cycles, instructions };

/// Properties of a trace as a whole.
struct Timing {
  Kind kind = Kind::memory;
  Counts counts = Counts::cycles;
  bool absolute = false;
  std::uint64_t clock_ps = 0;  ///< of a cycle or an instruction; 0: the format does not say

  friend bool operator==(const Timing&, const Timing&) = default;
};

}  // namespace nearfar::trace

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/address.h"

namespace nearfar::trace {

/// What a record of a trace says was done.
enum class Access : std::uint8_t {
  read,
  write,
  nt_write,     ///< past the caches
  flush,        ///< a line written back
  store_fence,  ///< the thread's writes and flushes before it are persistent before it goes on
  full_fence,   ///< the same, and its reads have completed
};
inline constexpr std::size_t access_kinds = 6;

[[nodiscard]] constexpr bool is_fence(Access access) { return access >= Access::store_fence; }

/// One record of a trace, whatever format it came in: a memory access, or a fence.
struct Record {
  Address address{};  ///< 0 for a fence
  /// In what the trace counts (see Timing): clock cycles from the start of the trace when
  /// `absolute`, otherwise from the moment the record before it entered the memory; or
  /// instructions that the thread executed since its record before, its own among them.
  std::uint64_t cycles = 0;
  /// Where it stands in the trace, for messages: a text's line, else the number of the record.
  std::uint64_t line = 0;
  /// Bytes touched from `address` on. Formats that give no size name a cache line by any
  /// byte of it, which is what 1 says; so does a fence.
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

/// What a trace recorded, and with it where its addresses point.
enum class Kind : std::uint8_t {
  memory,   ///< physical addresses, as they reach the memory
  program,  ///< virtual addresses, as a program uses them, before any cache
};

/// What the gaps of a trace count.
enum class Counts : std::uint8_t { cycles, instructions };

/// What is known of a trace as a whole.
struct Timing {
  Kind kind = Kind::memory;
  Counts counts = Counts::cycles;
  bool absolute = false;
  std::uint64_t clock_ps = 0;  ///< of a cycle or an instruction; 0: the format does not say

  friend bool operator==(const Timing&, const Timing&) = default;
};

}  // namespace nearfar::trace

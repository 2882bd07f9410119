#pragma once

#include <cstdint>

#include "base/address.h"

namespace nearfar::trace {

enum class Access : std::uint8_t { read, write };

/// One memory access of a trace, whatever format it came in.
struct Record {
  Address address;
  /// Clock cycles, at the clock of the trace: from the start of the trace when `absolute`,
  /// otherwise from the moment the access before it entered the memory.
  std::uint64_t cycles = 0;
  /// The line of the trace it stands on, for messages.
  std::uint64_t line = 0;
  /// Bytes touched from `address` on. Formats that give no size name a cache line by any
  /// byte of it, which is what 1 says.
  std::uint32_t size = 1;
  Access access = Access::read;
  bool absolute = false;
  /// Nothing later enters the memory before this access has completed.
  bool blocks = false;

  friend bool operator==(const Record&, const Record&) = default;
};

/// The largest `size` a trace may give: a page.
inline constexpr std::uint32_t max_access_bytes = 4096;

}  // namespace nearfar::trace

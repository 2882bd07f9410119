#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "frontend/qemu/guest_time.h"

namespace nearfar::frontend::qemu {

struct SystemCall {
  std::int64_t number = -1;
  std::array<std::uint64_t, 6> arguments{};
};

/// How a system call that waits says until when.
struct Wait {
  enum class Form : std::uint8_t { none, milliseconds, time_spec, time_value } form = Form::none;
  unsigned argument = 0;     ///< which one holds it, or points to it
  unsigned offset = 0;       ///< of the time in what that points to
  bool absolute = false;     ///< a clock's reading, not a span
  bool realtime = false;     ///< which clock
  std::int64_t over = 0;     ///< the call's result when all of the time has passed
  bool may_block = false;    ///< until another thread or process does something
};

/// What the call waits for, by its number and arguments.
[[nodiscard]] Wait wait_of(const SystemCall& call);

/// The span, or the reading, in ns; nothing if the call waits without limit or the address of
/// the time is wrong.
[[nodiscard]] std::optional<std::uint64_t> limit_ns(const Wait& wait, const SystemCall& call);

}  // namespace nearfar::frontend::qemu

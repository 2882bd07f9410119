#pragma once

#include "tier/preload/call_buffers.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {

/// Makes a system call for the program, as it wants it, under --sigbus: what the call is given of
/// managed memory is near while it runs. Returns -errno.
[[nodiscard]] long make_held_call(long number, const Words& words) noexcept;

/// Whether the program may read so many bytes, of which those that are managed are near now.
[[nodiscard]] bool may_be_read(Runtime& tier, os::Place at, std::size_t bytes);

/// The same under --sigbus, and the call by itself otherwise.
[[nodiscard]] long call_for_program(long number, const Words& words) noexcept;
/// From now on, that makes held calls.
void hold_calls();
/// In a forked child, which has the calling thread only.
void hold_calls_in_child();

}  // namespace nearfar::tier::preload

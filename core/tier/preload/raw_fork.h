#pragma once

#include "tier/preload/call_buffers.h"
#include "tier/service/lock.h"

namespace nearfar::tier::preload {

/// Held by a thread while it forks.
inline constinit Lock one_fork;

/// Makes, by a system call that returns on the same stack, a child that shares no memory. Returns
/// what the call does, or -EAGAIN.
[[nodiscard]] long raw_fork(long number, const Words& words) noexcept;

}  // namespace nearfar::tier::preload

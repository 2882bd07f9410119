#pragma once

#include "tier/os/system.h"

namespace nearfar::tier::os {

/// Starts a thread that libc does not know: creating one calls no allocator, because the
/// allocator's memory may have to be brought in by the thread, it has no part in a program's last
/// pthread_exit, and a forked child may start it before anything else runs. All signals stay
/// blocked in it. It must never return, nor call what needs libc's thread state. Its number; 0 if
/// there is no memory or no right.
[[nodiscard]] int start_thread(void (*run)(void*), void* argument) noexcept;

}  // namespace nearfar::tier::os

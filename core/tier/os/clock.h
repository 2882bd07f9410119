#pragma once

#include <cstdint>

namespace nearfar::tier::os {

/// Time that passes always, in nanoseconds. Without a system call where the kernel offers that.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

/// How long a thread of this process has run, in nanoseconds; 0 if the kernel does not tell.
[[nodiscard]] std::uint64_t run_ns(int thread) noexcept;

/// How long the calling thread has run, in nanoseconds.
[[nodiscard]] std::uint64_t own_thread_ns() noexcept;

/// Returns at `ns` of the monotonic clock, or at once if that is over. Sleeps through what is long
/// and spins through the rest, as sleeping is 50 us late.
void wait_until(std::uint64_t ns) noexcept;

}  // namespace nearfar::tier::os

#pragma once

#include <cstdint>

namespace nearfar::tier::os {

/// Opens what the kernel tells of this process; -errno on failure. A program may forbid itself to
/// open files (seccomp), so this comes before its first instruction. What the kernel tells of the
/// pager's threads is not asked for: a thread that was looked up in /proc is taken down there as it
/// ends, and the process that reaps it keeps a processor busy meanwhile.
[[nodiscard]] int open_status() noexcept;

/// Anonymous memory of the process that lies in RAM, in pages, as the kernel counts it; 0 if it
/// does not tell.
[[nodiscard]] std::uint64_t anonymous_pages(int status) noexcept;

/// How many filters of system calls (seccomp) the process's first thread has; -1 if the kernel does
/// not tell. A filter for all threads is one of the first thread's, unless that has ended.
[[nodiscard]] int filters_of(int status) noexcept;
[[nodiscard]] bool has_first_thread_ended(int status) noexcept;

}  // namespace nearfar::tier::os

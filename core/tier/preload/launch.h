#pragma once

#include <cstdint>
#include <optional>

#include "tier/tree/control.h"

namespace nearfar::tier::preload {

/// Where what a tree shares is kept open: a process, and its numbers for it; and what the launcher
/// is limited to, by which a program tells whether it can be a part of the tree.
struct Launch {
  int process = 0;
  int control = 0;
  int far = 0;
  int wake_pipe = 0;
  int sigbus = 0;  ///< 1: threads serve their faults themselves, in a handler of SIGBUS
  std::uint64_t pid_namespace = 0;  ///< the launcher's; 0: not known
  int filters = 0;                  ///< of system calls that the launcher has (seccomp)
  int tracer = 0;                   ///< the pipe of the tree's own tracer; 0: there is none
};

/// The launch that this process belongs to: that of `nearfar tier run` (NEARFAR_TIER), or a new one
/// of which it is the first process (NEARFAR_TIER_NEAR and NEARFAR_TIER_FAR). False if neither was
/// asked for. Ends the process with a message if what was asked for cannot be done.
[[nodiscard]] bool find_launch(Launch& launch);

/// Opens this process's own descriptors of it: control memory, far file, wake-up pipe. Nothing if
/// this process cannot be a part of the tree, as it is confined more than its launcher or is
/// another user's: it then runs outside the limit. Ends the process with a message if the launcher
/// is gone.
[[nodiscard]] std::optional<Launch> open_launch(const Launch& launch);

/// Whether a program that this thread executes now will find what its tree shares: whether it may
/// open it, sees the launcher in /proc, and has no filters of system calls that the launcher has
/// not. Such filters outlive exec, when nothing tells them any more which calls are the pager's.
[[nodiscard]] bool can_join(const Launch& launch);

/// Maps the whole of the control memory.
[[nodiscard]] Control& map_control(int descriptor);

}  // namespace nearfar::tier::preload

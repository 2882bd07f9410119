#pragma once

#include "tier/tree/control.h"

namespace nearfar::tier::preload {

/// Where what a tree shares is kept open: a process, and its numbers for it.
struct Launch {
  int process = 0;
  int control = 0;
  int far = 0;
  int bell = 0;
  int sigbus = 0;  ///< 1: threads serve their faults themselves, in a handler of SIGBUS
};

/// The launch that this process belongs to: that of `nearfar tier run` (NEARFAR_TIER), or a new one
/// of which it is the first process (NEARFAR_TIER_NEAR and NEARFAR_TIER_FAR). False if neither was
/// asked for. Ends the process with a message if what was asked for cannot be done.
[[nodiscard]] bool find_launch(Launch& launch);

/// Opens this process's own descriptors of it: control memory, far file, bell.
[[nodiscard]] Launch open_launch(const Launch& launch);

/// Maps the whole of the control memory.
[[nodiscard]] Control& map_control(int descriptor);

}  // namespace nearfar::tier::preload

#pragma once

#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {

/// seccomp(2), and what prctl(2) has of it.
[[nodiscard]] long seccomp(long operation, long flags, long filter);
[[nodiscard]] long set_seccomp(long mode, long filter);

}  // namespace nearfar::tier::preload

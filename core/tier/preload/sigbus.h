#pragma once

#include "tier/service/service.h"

namespace nearfar::tier::preload {

/// From now on a thread that gets SIGBUS for a fault in managed memory serves it itself. What the
/// program does about SIGBUS is done for other memory. Before any memory is watched.
void serve_faults_by_signal(Service& service);

}  // namespace nearfar::tier::preload

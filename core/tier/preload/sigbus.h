#pragma once

#include "tier/preload/signal_arguments.h"
#include "tier/service/service.h"

namespace nearfar::tier::preload {

/// From now on a thread that gets SIGBUS for a fault in managed memory serves it itself. What the
/// program does about SIGBUS is done for other memory. Before any memory is watched.
void serve_faults_by_signal(Service& service);

/// What the program wants done about SIGBUS is noted, if anything, and what it wanted before.
void change_program_action(const KernelAction* wanted, KernelAction& before);

}  // namespace nearfar::tier::preload

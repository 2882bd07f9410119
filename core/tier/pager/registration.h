#pragma once

#include "tier/pager/incoming_groups.h"
#include "tier/pager/state.h"

namespace nearfar::tier {

/// Opens the userfaultfds, reserves the staging memory and registers the region, in a process that
/// is new. Ends the process with a message if that is not possible.
void register_region(PagerState& state, IncomingGroups& incoming);

/// Whether a forked child gets the region. One that a system call makes, past the library, must not
/// take zeros for its memory: it does not get this memory at all, and dies when it touches it.
void allow_fork(PagerState& state, bool allowed);

}  // namespace nearfar::tier

#pragma once

#include "tier/control.h"

namespace nearfar::tier::preload {

/// At the end of the first process of a tree that nobody launched: what was counted, into the file
/// that NEARFAR_TIER_REPORT names, as `nearfar tier run --json` has it; as one line to standard
/// error where it is not set; nowhere where it is empty.
void report(Control& control);

}  // namespace nearfar::tier::preload

#pragma once

#include "tier/tree/control.h"

namespace nearfar::tier::preload {

/// At the end of the first process of a tree without a launcher: what was counted, into the file
/// that NEARFAR_TIER_REPORT names, as `nearfar tier run --json` has it; as one line to standard
/// error where it is not set; nowhere where it is empty.
void report(Control& control);

/// Keeps standard error as it is at the start for that line: programs close theirs before the
/// library ends.
void keep_standard_error();
/// A child says nothing, and must not keep open a pipe that is read to the end.
void drop_standard_error();
/// The library's descriptor for it; -1: none.
[[nodiscard]] int kept_standard_error();

}  // namespace nearfar::tier::preload

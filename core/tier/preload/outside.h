#pragma once

namespace nearfar::tier::preload {

/// The program is about to execute another by this function of libc's, whose arguments are the
/// registers that are saved here, the first one last. Counts it if that will run outside the
/// limit: if the library cannot be loaded into it, or is not in the environment that it gets. Does
/// nothing that a forked child of a program with threads, or a signal's handler, may not do.
void note_program(const char* function, const long* saved);

}  // namespace nearfar::tier::preload

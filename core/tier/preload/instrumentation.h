#pragma once

namespace nearfar::tier::preload {

/// What runs this program in place of the processor: an emulator, or a tool that instruments each
/// instruction or replays system calls. None of them can run the pager, whose threads and
/// userfaultfd they do not know. Null if there is none.
[[nodiscard]] const char* find_instrumentation();

/// Ends the process with a message if there is one.
void refuse_instrumentation();

}  // namespace nearfar::tier::preload

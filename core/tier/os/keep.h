#pragma once

namespace nearfar::tier::os {

/// Keeps the file behind a descriptor open for as long as the process lives, even if it closes all
/// of its descriptors by instructions of its own: a thread that does nothing has them in a table of
/// its own. Without it the last close would turn far pages into zeros. False if there is no memory
/// or no right for another thread.
[[nodiscard]] bool keep_open(int descriptor) noexcept;

}  // namespace nearfar::tier::os

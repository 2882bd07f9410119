#pragma once

namespace nearfar::tier::os {

/// Keeps the file behind a descriptor open for as long as the process lives, even if it closes all
/// of its descriptors by instructions of its own: a thread has it, and nothing else, in a table of
/// its own, where it may open more. Without it the last close would turn far pages into zeros. The
/// thread then runs `then`, which never returns. Its number; 0 if there is no memory or no right
/// for it.
[[nodiscard]] int keep_open(int descriptor, void (*then)(void*), void* argument) noexcept;

}  // namespace nearfar::tier::os

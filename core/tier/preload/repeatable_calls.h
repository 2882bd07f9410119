#pragma once

#include "tier/preload/call_buffers.h"

namespace nearfar::tier::preload {

/// Whether a call fails with EFAULT before it has done or waited for anything.
[[nodiscard]] bool fails_first(long number, const Words& words);

/// Whether a call has done nothing where it fails with EFAULT, and does not mind being made again:
/// it waits for events without end, or reads from what keeps its bytes until they are taken.
[[nodiscard]] bool may_be_repeated(long number, const Words& words);

/// Whether a descriptor is of a file on a disk or the like.
[[nodiscard]] bool is_file(long descriptor);
/// Whether each write goes to where the file ends then, so that others' must not come between.
[[nodiscard]] bool appends(long descriptor);
/// Whether it is of bytes that come one after the other, with no borders between them, and stay
/// until they have arrived.
[[nodiscard]] bool is_byte_stream(long descriptor);

}  // namespace nearfar::tier::preload

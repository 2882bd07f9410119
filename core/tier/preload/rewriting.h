#pragma once

namespace nearfar::tier::preload {

/// Before any large range of addresses is taken, which would lie beside the libraries, too.
void reserve_room_beside_libraries();

/// Has libc's own instructions that call the kernel jump to `make_held_call` (held_calls.h). While
/// the process has one thread. Ends it with a message where that cannot be.
void rewrite_calls();

}  // namespace nearfar::tier::preload

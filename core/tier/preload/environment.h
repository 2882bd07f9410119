#pragma once

#include <cstddef>

namespace nearfar::tier::preload {

/// Reads a variable of the environment that the process was started with: libc's own is not there
/// yet when the first memory is asked for. False if it is not set, or longer than `size`.
[[nodiscard]] bool started_with(const char* name, char* value, std::size_t size);

/// The first variable of that environment whose name begins so and is none of these, null at their
/// end; as much of it as fits. False if there is none.
[[nodiscard]] bool started_with_unknown(const char* beginning, const char* const* known, char* name,
                                        std::size_t size);

}  // namespace nearfar::tier::preload

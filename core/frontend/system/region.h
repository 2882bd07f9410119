#pragma once

#include <atomic>
#include <string>

namespace nearfar::frontend::system {

/// The first byte of the file `region` in a run's folder, which is '1' while the region of interest
/// lasts and which another process writes, for as long as this one lives. Throws InputError.
[[nodiscard]] const std::atomic<char>* watched_region(const std::string& folder);

}  // namespace nearfar::frontend::system

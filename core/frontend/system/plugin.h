#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace nearfar::frontend::system {

/// The run's folder, for as long as QEMU lives.
[[nodiscard]] const std::string& folder();
/// Says to `nearfar` why nothing more comes: QEMU says only that the plug-in failed to begin.
void tell(const std::exception& error);

/// Has the plug-in record what of the machine reaches memory.
void begin_recording(std::uint64_t id, std::size_t processors);
/// Has it simulate the machine's one processor.
void begin_running(std::uint64_t id);

}  // namespace nearfar::frontend::system

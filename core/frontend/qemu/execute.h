#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::frontend::qemu {

/// A program that the guest executes.
struct Execution {
  std::string path;
  std::vector<std::string> arguments;  ///< with the program's name in front
  std::vector<std::string> environment;
};

/// What stands behind a path, as far as an execution is concerned.
enum class Executable : std::uint8_t {
  none,     ///< cannot be executed: the kernel says why
  seen,     ///< runs in QEMU
  foreign,  ///< for another machine, or of another format: runs without QEMU, unseen
};

/// Follows `#!` lines, changing `execution` to what the kernel would execute.
[[nodiscard]] Executable resolve(Execution& execution);

/// The command that runs it under QEMU with this plug-in, and QEMU's own environment.
[[nodiscard]] Execution under_qemu(const Execution& execution, const Settings& options,
                                   const std::string& folder, Tick start, std::uint64_t number);

/// execve; comes back only when it fails.
void execute(const Execution& execution);

}  // namespace nearfar::frontend::qemu

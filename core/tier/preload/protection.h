#pragma once

#include "tier/os/system.h"

namespace nearfar::tier {

/// Tells what may be done to this process's memory. A program may forbid itself to open files
/// (seccomp), so this is opened before its first instruction, and anew in a forked child.
class Protections {
 public:
  void open() noexcept;
  void reopen_in_child() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return maps_; }

  /// What may be done to a page (PROT_READ...), as the kernel has it; -1 if it does not tell, or
  /// nothing is mapped there.
  [[nodiscard]] int of(os::Place at) const noexcept;

 private:
  int maps_ = -1;
};

}  // namespace nearfar::tier

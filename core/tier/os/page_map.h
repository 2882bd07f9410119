#pragma once

#include <span>

#include "tier/os/system.h"

namespace nearfar::tier::os {

/// Tells which pages of this process are there. A process that has changed its user may not open
/// its own page map; mincore knows all but what the kernel has swapped out.
class PageMap {
 public:
  /// Pages side by side that are there.
  struct Run {
    Place begin;
    Place end;
    bool huge;  ///< mapped as whole huge pages
  };

  /// What an open one is asked for: the number of ioctl.
  [[nodiscard]] static std::uint32_t request() noexcept;

  /// Of this process as it is now; a forked child needs another. Before a program forbids itself
  /// to open files.
  void open() noexcept;
  void close() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  [[nodiscard]] bool present(Place at) const noexcept;

  /// Finds what is there from `from` on, as much as `runs` has room for; how many. `from` is then
  /// where to go on, or `end`.
  [[nodiscard]] std::size_t find(Place& from, Place end, std::span<Run> runs) const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace nearfar::tier::os

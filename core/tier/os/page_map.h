#pragma once

#include <span>

#include "tier/os/system.h"

namespace nearfar::tier::os {

/// Tells which pages of this process are there. A process that has changed its user may not open
/// its own page map; mincore knows all but what the kernel has swapped out. Before Linux 6.7 the
/// map has a word for each page, which is read.
class PageMap {
 public:
  /// Pages side by side that are there.
  struct Run {
    Place begin;
    Place end;
    bool huge;  ///< mapped as whole huge pages, as far as it is told
  };

  /// What an open one is asked for: the number of ioctl.
  [[nodiscard]] static std::uint32_t request() noexcept;

  /// Of this process as it is now; a forked child needs another. Before a program forbids itself
  /// to open files.
  void open() noexcept;
  void close() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  [[nodiscard]] bool present(Place at) const noexcept;
  /// Whether runs say that they are huge.
  [[nodiscard]] bool tells_huge() const noexcept { return tells_huge_; }

  /// Finds what is there from `from` on, as much as `runs` has room for; how many. `from` is then
  /// where to go on, or `end`.
  [[nodiscard]] std::size_t find(Place& from, Place end, std::span<Run> runs) const noexcept;

  /// Finds pages that are there and were written to, and from now on notes writes to those anew.
  [[nodiscard]] std::size_t find_written(Place& from, Place end,
                                         std::span<Run> runs) const noexcept;
  /// Finds pages that were read or written to since the use of all was noted anew.
  [[nodiscard]] std::size_t find_accessed(Place& from, Place end,
                                          std::span<Run> runs) const noexcept;
  /// Finds what reads as the kernel's page of zeros. Nothing before Linux 6.7.
  [[nodiscard]] std::size_t find_zeros(Place& from, Place end, std::span<Run> runs) const noexcept;

 private:
  [[nodiscard]] std::size_t find_used(Place& from, Place end, std::span<Run> runs,
                                      std::uint64_t flags, std::uint64_t category) const noexcept;

  int descriptor_ = -1;
  bool tells_huge_ = false;
};

/// What `PageMap::find` does before Linux 6.7, by the words of a map; by mincore if there is none
/// (below 0). No run says that it is huge.
[[nodiscard]] std::size_t find_page_by_page(int map, Place& from, Place end,
                                            std::span<PageMap::Run> runs) noexcept;

}  // namespace nearfar::tier::os

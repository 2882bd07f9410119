#pragma once

#include <linux/userfaultfd.h>

#include "tier/os/system.h"

namespace nearfar::tier::os {

/// What a call on pages did: how many bytes, and why it stopped before the end (0 or -errno).
struct Moved {
  std::size_t bytes = 0;
  long error = 0;
};

/// Whether filling pages wakes who waits for them, or leaves that to `Uffd::wake`.
enum class Waking : bool { later, at_once };

/// A userfaultfd: touches of pages that are missing in registered memory wait until whoever reads
/// the events has filled them.
class Uffd {
 public:
  /// Opens one, the first or another in a forked child, that also waits inside system calls. -EPERM
  /// if this user may not, -EMFILE without descriptors, -ENOSYS if the kernel cannot move pages
  /// (before Linux 6.8).
  [[nodiscard]] long open() noexcept;
  void close() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The device that it came from, if it did; -1 otherwise.
  [[nodiscard]] int device() const noexcept { return device_; }

  [[nodiscard]] long register_missing(Place at, std::size_t length) const noexcept;

  /// The addresses of up to `most` waiting faults; how many.
  [[nodiscard]] std::size_t read(Place* faults, std::size_t most) const noexcept;

  /// Fills missing pages with a copy.
  [[nodiscard]] Moved copy(Place to, const void* from, std::size_t length,
                           Waking waking = Waking::later) const noexcept;
  /// Moves present pages of anonymous memory to where pages are missing, without a copy. If there
  /// is a page at `to`, it counts as moved, and the error is -EEXIST.
  [[nodiscard]] Moved move(Place to, Place from, std::size_t length,
                           Waking waking = Waking::later) const noexcept;
  void wake(Place at, std::size_t length) const noexcept;

 private:
  int descriptor_ = -1;
  int device_ = -1;  // kept: a program that gives up its rights may fork afterwards
};

}  // namespace nearfar::tier::os

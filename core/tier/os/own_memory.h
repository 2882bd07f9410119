#pragma once

#include <cstddef>

#include "tier/os/system.h"

namespace nearfar::tier::os {

/// Reads this process's memory without waiting for pages that are missing: a thread that serves
/// faults must not cause any.
class OwnMemory {
 public:
  /// Where this fails (a process that has changed its user), pages are looked for before they are
  /// read, which a program that gives them back between the two by instructions of its own could
  /// make wait for ever.
  void open() noexcept;
  void close() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

  /// Copies whole pages; how many bytes, up to the first page that is missing.
  [[nodiscard]] std::size_t read(Place from, void* to, std::size_t length) const noexcept;

 private:
  int descriptor_ = -1;
};

/// Whether a page of private memory is there, and not swapped out.
[[nodiscard]] bool resident(Place at) noexcept;

}  // namespace nearfar::tier::os

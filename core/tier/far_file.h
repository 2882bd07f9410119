#pragma once

#include <cstddef>

#include "tier/page_table.h"

namespace nearfar::tier {

/// The file that holds what is not near. By system calls, not mapped: a full or truncated file is
/// an error that can be told, not a signal in the middle of the program.
class FarFile {
 public:
  FarFile() = default;
  explicit FarFile(int descriptor) : descriptor_(descriptor) {}

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Reads `pages` adjacent slots. Ends the process if they are not all there.
  void read(Slot slot, void* to, std::size_t pages) const;
  /// Writes `pages` adjacent slots. Ends the process if there is no room.
  void write(Slot slot, const void* from, std::size_t pages) const;

 private:
  int descriptor_ = -1;
};

}  // namespace nearfar::tier

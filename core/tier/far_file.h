#pragma once

#include <cstddef>

#include "tier/page_table.h"

namespace nearfar::tier {

/// The file that holds what is not near. It is written by system calls: a full file is an error
/// that can be told, not a signal in the middle of the program.
class FarFile {
 public:
  FarFile() = default;
  explicit FarFile(int descriptor) : descriptor_(descriptor) {}

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Maps so many slots to be read in place, if the file lies in memory (tmpfs); elsewhere the
  /// kernel reads better what it is asked for than what it guesses.
  void map(std::size_t slots);
  [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }
  /// A mapped slot, that the file must reach to: `expect` before it is read.
  [[nodiscard]] const unsigned char* at(Slot slot) const;
  /// Ends the process if the file was cut short before the end of this slot.
  void expect(Slot slot) const;

  /// Reads `pages` adjacent slots. Ends the process if they are not all there.
  void read(Slot slot, void* to, std::size_t pages) const;
  /// Writes `pages` adjacent slots. Ends the process if there is no room.
  void write(Slot slot, const void* from, std::size_t pages) const;

  /// The same of bytes, wherever they begin.
  void read_at(std::size_t offset, void* to, std::size_t bytes) const;
  void write_at(std::size_t offset, const void* from, std::size_t bytes) const;

 private:
  int descriptor_ = -1;
  const unsigned char* mapped_ = nullptr;
};

}  // namespace nearfar::tier

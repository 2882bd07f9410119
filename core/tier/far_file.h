#pragma once

#include <cstddef>

#include "tier/page_table.h"

namespace nearfar::tier {

/// The file that holds what is not near. It is written by system calls: a full file is an error
/// that can be told, not a signal in the middle of the program. Only memory that nobody can cut
/// short is written as memory, but for the first time: a call then takes less than a fault.
class FarFile {
 public:
  FarFile() = default;
  explicit FarFile(int descriptor) : descriptor_(descriptor) {}

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Maps so many slots to be read in place, if the file lies in memory (tmpfs), and to be written
  /// there if it is sealed at that size; elsewhere the kernel reads better what it is asked for
  /// than what it guesses.
  void map(std::size_t slots);
  void map_if_sealed(std::size_t slots);
  [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }
  /// Whether it can be read and written in place whatever happens to it.
  [[nodiscard]] bool sealed() const { return written_ != nullptr; }
  /// A mapped slot, that the file must reach to: `expect` before it is read.
  [[nodiscard]] const unsigned char* at(Slot slot) const;
  /// Ends the process if the file was cut short before the end of this slot.
  void expect(Slot slot) const;

  /// Reads `pages` adjacent slots. Ends the process if they are not all there.
  void read(Slot slot, void* to, std::size_t pages) const;
  /// Writes `pages` adjacent slots. Ends the process if there is no room.
  void write(Slot slot, const void* from, std::size_t pages);

  /// The same of bytes, wherever they begin. `view_at`: in place if that can be, or in `buffer`.
  [[nodiscard]] const void* view_at(std::size_t offset, void* buffer, std::size_t bytes) const;
  void read_at(std::size_t offset, void* to, std::size_t bytes) const;
  void write_at(std::size_t offset, const void* from, std::size_t bytes);

 private:
  [[nodiscard]] bool is_sealed(std::size_t length) const;
  [[nodiscard]] unsigned char* map_bytes(std::size_t length, int access) const;

  int descriptor_ = -1;
  const unsigned char* mapped_ = nullptr;
  unsigned char* written_ = nullptr;  // the same, where it may be written
  std::size_t end_ =
      0;  // up to which it has been written by calls; there may be holes in front, too
};

}  // namespace nearfar::tier

#pragma once

#include <cstddef>

#include "tier/pager/page.h"

namespace nearfar::tier {

/// The file that holds what is not near. What is written for the first time is written by system
/// calls: they take less than a fault, and a full file is an error that can be told, not a signal
/// in the middle of the program. A file that lies in memory is written in place from then on.
class FarFile {
 public:
  FarFile() = default;
  explicit FarFile(int descriptor) : descriptor_(descriptor) {}

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Maps so many slots to be read and written in place, if the file lies in memory: tmpfs, or
  /// sealed at that size. Elsewhere the kernel reads better what it is asked for than what it
  /// guesses.
  void map(std::size_t slots);
  void map_if_sealed(std::size_t slots);
  [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }
  /// Whether it is mapped and nobody can cut it short.
  [[nodiscard]] bool sealed() const { return sealed_; }
  /// A mapped slot, that the file must reach to: `expect` before it is read.
  [[nodiscard]] const unsigned char* at(Slot slot) const;
  /// Ends the process if the file was cut short before the end of this slot.
  void expect(Slot slot) const;
  /// The same of all that has been written: once before any number of slots is read or written.
  void expect_written() const;

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
  void map_bytes(std::size_t length);
  void expect_bytes(std::size_t bytes) const;

  int descriptor_ = -1;
  unsigned char* mapped_ = nullptr;
  bool sealed_ = false;
  // Up to which it has been written by calls. Holes in front are slots of a process of the tree
  // that was killed between taking and writing them.
  std::size_t end_ = 0;
};

}  // namespace nearfar::tier

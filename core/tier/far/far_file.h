#pragma once

#include <cstddef>

#include "tier/pager/page.h"

namespace nearfar::tier {

/// The file that holds far pages, as bytes and as slots of 4 KiB. Whatever is written for the first
/// time is written by system calls: they take less time than a fault, and report a full file as an
/// error, not by a signal in the middle of the program. A file that lies in memory is written in
/// place from then on.
class FarFile {
 public:
  FarFile() = default;
  explicit FarFile(int descriptor) : descriptor_(descriptor) {}

  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Maps so many slots, to read and write them in place, if the file lies in memory: on tmpfs, or
  /// sealed at that size. Elsewhere system calls let the kernel read what is needed and no more.
  void map(std::size_t slots);
  void map_if_sealed(std::size_t slots);
  [[nodiscard]] bool mapped() const { return mapped_ != nullptr; }
  /// Whether it is mapped and can never be cut short.
  [[nodiscard]] bool sealed() const { return sealed_; }
  /// A mapped slot. `expect` it before reading: the file may end before it.
  [[nodiscard]] const unsigned char* at(Slot slot) const;
  /// Ends the process if the file was cut short before the end of this slot.
  void expect(Slot slot) const;
  /// The same for all that has been written: once, before any number of slots is read or written.
  void expect_written() const;

  /// Reads `pages` adjacent slots. Ends the process if they are not all there.
  void read(Slot slot, void* to, std::size_t pages) const;
  /// Writes `pages` adjacent slots. Ends the process if there is no room.
  void write(Slot slot, const void* from, std::size_t pages);

  /// The same for bytes at any offset. `view_at` returns them in place if possible, or in `buffer`.
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
  // What has been written by system calls ends here. Holes before that are slots of processes that
  // were killed between taking and writing them.
  std::size_t end_ = 0;
};

}  // namespace nearfar::tier

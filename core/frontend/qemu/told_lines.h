#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "base/address.h"

namespace nearfar::frontend::qemu {

/// The lines that a function of the guest flushes, where QEMU does not tell them: as the guest
/// library has said which function it is.
class ToldLines {
 public:
  ToldLines() = default;

  /// All lines of a range, one after the other.
  static ToldLines flushing(std::uint64_t address, std::uint64_t bytes) {
    ToldLines told;
    told.next_ = address / line_bytes * line_bytes;
    told.end_ = address + bytes;
    return told;
  }
  /// Of a range that is copied to, the lines that were stored to since the last flush, the lowest
  /// first: copies flush each piece of a few lines, or each end, as soon as it is stored.
  static ToldLines copying(std::uint64_t address, std::uint64_t bytes) {
    ToldLines told = flushing(address, bytes);
    told.copies_ = true;
    return told;
  }

  [[nodiscard]] bool copies() const { return copies_; }
  void stored(std::uint64_t address, std::uint64_t bytes) {
    for (std::uint64_t line = address / line_bytes * line_bytes; line < address + bytes;
         line += line_bytes) {
      if (next_ <= line && line < end_) stored_.insert(line);
    }
  }

  /// The line of the flush that is executed, if it is known.
  [[nodiscard]] std::optional<std::uint64_t> flushed() {
    if (copies_) {
      if (stored_.empty()) return std::nullopt;
      return stored_.extract(stored_.begin()).value();
    }
    if (next_ >= end_) return std::nullopt;
    const std::uint64_t line = next_;
    next_ += line_bytes;
    return line;
  }

 private:
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
  bool copies_ = false;
  std::set<std::uint64_t> stored_;
};

}  // namespace nearfar::frontend::qemu

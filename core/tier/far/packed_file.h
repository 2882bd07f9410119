#pragma once

#include <cstddef>

#include "tier/far/chunks.h"
#include "tier/far/codec.h"
#include "tier/far/far_file.h"

namespace nearfar::tier {

/// The far file where pages lie compressed in it, in slots of their size (chunks.h). A page that
/// would save less than an eighth is stored as it is.
class PackedFile {
 public:
  PackedFile() = default;
  PackedFile(FarFile file, Compression compression) : file_(file), compression_(compression) {}

  [[nodiscard]] bool used() const { return compression_ != Compression::none; }
  /// Whether pages are read and written where they lie.
  [[nodiscard]] bool in_place() const { return file_.sealed(); }
  /// `slots`: that the far file may have.
  void start(std::size_t slots);

  /// Compresses a page; the class of slots that it needs.
  [[nodiscard]] Chunks::Class pack(const void* page);
  /// Puts what was packed last, which has not changed, into a slot of that class. How many bytes
  /// that moved.
  std::size_t write(const Chunks& chunks, Slot slot);
  /// The page in a slot, in place if it lies there as it is, or else in `buffer`; and how many
  /// bytes that moved.
  struct View {
    const void* page;
    std::size_t bytes;
  };
  [[nodiscard]] View view(const Chunks& chunks, Slot slot, void* buffer) const;
  /// The page in a slot. How many bytes that moved.
  std::size_t read(const Chunks& chunks, Slot slot, void* page) const;

 private:
  FarFile file_;
  Compression compression_ = Compression::none;
  Codec codec_;
  const void* last_ = nullptr;  // packed, if not compressed
};

}  // namespace nearfar::tier

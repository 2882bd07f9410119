#pragma once

#include <cstddef>

#include "tier/far/compression.h"

namespace nearfar::tier {

/// Compresses and decompresses single pages, in memory that is reserved once. The compressors are
/// linked into this library and hidden in it, as the program may have versions of its own.
class Codec {
 public:
  /// Before anything else. Ends the process with a message if there is no memory for it.
  void start(Compression compression);

  /// Compresses a page to at most `room` bytes. Returns how many it took, or 0 if it needs more.
  [[nodiscard]] std::size_t pack(const void* page, void* to, std::size_t room) const;

  /// Makes the page again. Returns false if `pack` did not make these bytes.
  [[nodiscard]] bool unpack(const void* from, std::size_t length, void* page) const;

 private:
  Compression compression_ = Compression::none;
  void* packing_ = nullptr;    // the compressor's working memory
  void* unpacking_ = nullptr;  // the decompressor's
};

}  // namespace nearfar::tier

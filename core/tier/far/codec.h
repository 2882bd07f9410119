#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::tier {

/// What far pages are compressed with. The launcher names them by position
/// (python/nearfar/tier/control.py).
enum class Compression : std::uint32_t { none, lz4, zstd };

[[nodiscard]] constexpr const char* name_of(Compression compression) {
  constexpr const char* names[] = {"none", "lz4", "zstd"};
  return names[static_cast<std::size_t>(compression)];
}

/// Compresses and decompresses single pages, in memory that is reserved once. The compressors are
/// linked into this library and seen by nobody else, as the program may have versions of its own.
class Codec {
 public:
  /// Ends the process with a message if there is no memory for it.
  void start(Compression compression);

  /// Compresses a page to at most `room` bytes; how many, 0 if they do not suffice.
  [[nodiscard]] std::size_t pack(const void* page, void* to, std::size_t room) const;

  /// Makes the page again. False if these are not bytes that `pack` made.
  [[nodiscard]] bool unpack(const void* from, std::size_t length, void* page) const;

 private:
  Compression compression_ = Compression::none;
  void* packing_ = nullptr;    // what the compressor works in
  void* unpacking_ = nullptr;  // and the decompressor
};

}  // namespace nearfar::tier

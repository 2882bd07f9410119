#include "tier/far/codec.h"

#include <lz4.h>
#define ZSTD_STATIC_LINKING_ONLY  // for contexts in memory that we provide
#include <zstd.h>

#include "tier/os/system.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

// The levels that zram uses.
constexpr int lz4_acceleration = 1;
constexpr int zstd_level = 3;

void* reserve(std::size_t bytes) {
  const os::Place at = os::reserve(bytes);
  if (at == 0) os::fail("no memory to compress far memory in");
  return os::pointer(at);
}

}  // namespace

void Codec::start(Compression compression) {
  compression_ = compression;
  if (compression == Compression::lz4) {
    packing_ = reserve(static_cast<std::size_t>(LZ4_sizeofState()));
  } else if (compression == Compression::zstd) {
    const std::size_t packing = ZSTD_estimateCCtxSize(zstd_level);
    const std::size_t unpacking = ZSTD_estimateDCtxSize();
    packing_ = ZSTD_initStaticCCtx(reserve(packing), packing);
    unpacking_ = ZSTD_initStaticDCtx(reserve(unpacking), unpacking);
    if (packing_ == nullptr || unpacking_ == nullptr) os::fail("zstd cannot be used");
  }
}

std::size_t Codec::pack(const void* page, void* to, std::size_t room) const {
  if (compression_ == Compression::zstd) {
    const std::size_t length = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(packing_), to, room, page,
                                                 page_bytes, zstd_level);
    return ZSTD_isError(length) != 0 ? 0 : length;
  }
  const int length =
      LZ4_compress_fast_extState(packing_, static_cast<const char*>(page), static_cast<char*>(to),
                                 int{page_bytes}, static_cast<int>(room), lz4_acceleration);
  return static_cast<std::size_t>(length);
}

bool Codec::unpack(const void* from, std::size_t length, void* page) const {
  if (compression_ == Compression::zstd) {
    return ZSTD_decompressDCtx(static_cast<ZSTD_DCtx*>(unpacking_), page, page_bytes, from,
                               length) == page_bytes;
  }
  return LZ4_decompress_safe(static_cast<const char*>(from), static_cast<char*>(page),
                             static_cast<int>(length), int{page_bytes}) == int{page_bytes};
}

}  // namespace nearfar::tier

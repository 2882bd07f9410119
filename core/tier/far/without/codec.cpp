// Compression where neither lz4 nor zstd was installed when this was built.

#include "tier/far/codec.h"

#include "tier/os/system.h"

namespace nearfar::tier {

void Codec::start(Compression /*compression*/) {
  os::fail(
      "far memory cannot be compressed: built without lz4 and zstd; apt-get install liblz4-dev "
      "libzstd-dev, then make install");
}

std::size_t Codec::pack(const void* /*page*/, void* /*to*/, std::size_t /*room*/) const {
  return 0;
}

bool Codec::unpack(const void* /*from*/, std::size_t /*length*/, void* /*page*/) const {
  return false;
}

}  // namespace nearfar::tier

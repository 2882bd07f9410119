#include "tier/far/far_stores.h"

#include "tier/far/compressed_store.h"
#include "tier/far/memory_store.h"
#include "tier/os/system.h"
#include "tier/tree/orders.h"

namespace nearfar::tier {
namespace {

constexpr std::array entries = {
    FarStoreEntry{"file", "FILE",
                  "a file to be made, on the far memory, gone when the program ends",
                  FarBacking::file, make_memory_store},
    FarStoreEntry{"anonymous", "anonymous", "memory of any NUMA node", FarBacking::memory,
                  make_memory_store},
    FarStoreEntry{"node", "node:N", "memory of NUMA node N", FarBacking::node, make_memory_store},
    FarStoreEntry{"compressed", "compressed",
                  "memory that is compressed, by lz4 or as "
                  "compressed:zstd says",
                  FarBacking::memory, make_compressed_store},
};

}  // namespace

std::span<const FarStoreEntry> far_stores() { return entries; }

std::uint32_t far_store_named(std::string_view name) {
  for (std::uint32_t i = 0; i < entries.size(); ++i)
    if (entries[i].name == name) return i;
  os::fail("no such kind of far memory");
}

FarMemory far_memory(Control& control, int descriptor) {
  const os::Place begin = os::place(&control);
  const os::Place users = begin + Control::bytes;
  const os::Place chunks = users + control.far_slots * sizeof(Slots::Users);
  return {.control = &control,
          .users = os::pointer<Slots::Users>(users),
          .totals = os::pointer<Chunks::Totals>(begin + Chunks::Totals::offset),
          .chunks = os::pointer<Chunks::State>(chunks),
          .descriptor = descriptor,
          .compression = orders_of(control).compression};
}

}  // namespace nearfar::tier

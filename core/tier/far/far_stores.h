#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "tier/far/codec.h"
#include "tier/far/far_store.h"

namespace nearfar::tier {

/// What far memory a process is given: its file, and what all processes of the tree know of it.
struct FarMemory {
  Control* control;
  Slots::Users* users;      ///< one for each slot
  Chunks::Totals* totals;   ///< of chunks,
  Chunks::State* chunks;    ///< and one for each
  int descriptor;
  Compression compression;
};
/// Slots of the far memory of every tree: of 1 TiB. Unused ones cost nothing.
inline constexpr std::uint64_t far_slots = std::uint64_t{1} << 28U;

/// Bytes of the memory that a tree shares if its far memory has so many slots: the control memory,
/// users of slots, states of chunks.
[[nodiscard]] constexpr std::size_t control_memory_bytes(std::uint64_t slots) {
  return Control::bytes + slots * sizeof(Slots::Users) + Chunks::states_bytes(slots);
}
/// What a process of that tree finds there.
[[nodiscard]] FarMemory far_memory(Control& control, int descriptor);

/// Where a store is made: it allocates nothing itself, and outlives the program.
struct FarStoreStorage {
  alignas(64) std::array<std::byte, 8192> bytes;
};
using MakeFarStore = FarStore& (*)(FarStoreStorage & at, const FarMemory& memory);

/// What the launcher makes for a store to keep pages in.
enum class FarBacking : std::uint8_t {
  file,    ///< a new file at a path, without a name from then on
  memory,  ///< a file in memory
  node,    ///< the same, in the memory of one NUMA node
};
[[nodiscard]] constexpr const char* name_of(FarBacking backing) {
  constexpr const char* names[] = {"file", "memory", "node"};
  return names[static_cast<std::size_t>(backing)];
}

/// A kind of far memory as the user names it.
struct FarStoreEntry {
  std::string_view name;
  std::string_view usage;  ///< what the user types, as messages spell it
  std::string_view meaning;
  FarBacking backing;
  MakeFarStore make;
};

/// All kinds. A tree's control memory names its own by its position here.
[[nodiscard]] std::span<const FarStoreEntry> far_stores();

/// The position of one that is known to be there.
[[nodiscard]] std::uint32_t far_store_named(std::string_view name);

/// For a store's own file: makes it.
template <typename Store, typename... Arguments>
[[nodiscard]] FarStore& make_far_store_at(FarStoreStorage& at, const Arguments&... arguments) {
  static_assert(sizeof(Store) <= sizeof(FarStoreStorage));
  static_assert(alignof(Store) <= alignof(FarStoreStorage));
  static_assert(std::is_trivially_destructible_v<Store>, "a store owns nothing");
  return *std::construct_at(reinterpret_cast<Store*>(at.bytes.data()), arguments...);
}

}  // namespace nearfar::tier

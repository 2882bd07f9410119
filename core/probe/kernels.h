#pragma once

#include <cstdint>

#include "probe/chain.h"
#include "probe/isa.h"

namespace nearfar::probe {

/// One way through the blocks of a region.
struct Walk {
  Blocks blocks;
  const std::uint32_t* next = nullptr;  ///< the successor table, in other memory
  Fence fence = Fence::none;            ///< after every block
};

/// Walks `steps` blocks from the block `index` on, and answers the index after the last. A
/// load walk in the lines follows what the lines hold; the others follow the table.
using WalkKernel = std::uint64_t (*)(const Walk& walk, std::uint64_t index, std::uint64_t steps);

enum class Successor : std::uint8_t { lines, table };

/// The kernel for an operation, at the widest vectors of this processor or at `width`.
[[nodiscard]] WalkKernel walk_kernel(Op op, Successor successor, Width width);

/// Follows a chain of single words from `at` for `steps` loads; answers where it leads.
std::byte* follow(std::byte* at, std::uint64_t steps);

/// The same, and changes the eight bytes behind each word before it goes on.
std::byte* follow_changing(std::byte* at, std::uint64_t steps);

/// Accesses `access` bytes, over and over: at regular strides or in random order.
struct Accesses {
  std::byte* base = nullptr;
  Bytes area = 0;
  Bytes access = line_bytes;
  Bytes stride = 0;  ///< 0: random
  std::uint32_t reads_percent = 100;
  Bytes fence_every = 0;  ///< bytes between fences; 0: none
  Fence fence = Fence::sfence;
  const std::byte* value = nullptr;  ///< the line that stores write; nullptr: they count
};

/// Where a stream of accesses has come to.
struct AccessState {
  std::uint64_t done = 0;
  std::uint64_t random = 0;  ///< state of the random order
  Bytes since_fence = 0;
};

/// Makes `count` more accesses.
using AccessKernel = void (*)(const Accesses& accesses, AccessState& state, std::uint64_t count);

[[nodiscard]] AccessKernel access_kernel(Op op, Width width);

/// Writes `bytes` at `at` by one of the stores.
using StoreKernel = void (*)(std::byte* at, Bytes bytes, std::uint64_t word);

[[nodiscard]] StoreKernel store_kernel(Op op, Width width);

/// Fills `bytes` at `at` with the line `value` by ordinary stores.
void fill_with(std::byte* at, Bytes bytes, const std::byte* value, Width width);

}  // namespace nearfar::probe

#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim::imc {

enum class NearPolicy : std::uint8_t { lru, fifo, random };

/// Where the tags of a near memory are.
enum class NearTags : std::uint8_t {
  ecc,   ///< in the ECC bits of every 64-byte block: reading a block reads its line's tag
  data,  ///< in lines of their own behind the data, 8 bytes a way
};

/// What of a line is written back to the far memory.
enum class NearDirty : std::uint8_t {
  line,    ///< all of it once a block of it was written
  sector,  ///< the 64-byte blocks that were written
};

/// A near memory: DRAM that caches a far memory, as a memory controller runs it ("Memory Mode").
struct NearConfig {
  Bytes capacity = 0;      ///< of data
  Bytes line = line_bytes;
  std::uint32_t ways = 1;
  NearPolicy policy = NearPolicy::lru;
  NearTags tags = NearTags::ecc;
  NearDirty dirty = NearDirty::line;
  bool write_back = true;
  /// Whether a line that the processor reads stays in near memory. If not, a read that misses
  /// goes past it, and near memory holds only what the processor has written.
  bool inclusive = true;
  bool write_fetch = false;  ///< a write that misses first reads its block from far memory
  bool prefetch_next = false;
  Bytes app_direct = 0;      ///< at the end of the address space: not cached
  Tick latency{};            ///< of the controller, between a look-up's data and its outcome
  std::uint32_t subchannels = 1;  ///< of a near channel, which have one controller together
  std::uint32_t reads = 0;   ///< that a channel's controller works on at once
  std::uint32_t writes = 0;
  std::uint64_t seed = 0;

  [[nodiscard]] std::uint64_t sets() const { return capacity / line / ways; }
  [[nodiscard]] std::uint32_t blocks() const {
    return static_cast<std::uint32_t>(line / line_bytes);
  }
  /// Bytes of the tags that need a place among the data.
  [[nodiscard]] Bytes tag_bytes() const;
};

/// Reads the keys `near.*` but those of its DRAM. Throws InputError when one is missing or
/// impossible.
[[nodiscard]] NearConfig near_config_from(const Settings& settings);

/// Throws InputError when the values contradict each other or the memories: `near` holds the
/// lines, `far` is what is behind them.
void check(const NearConfig& config, Bytes near, Bytes far);

}  // namespace nearfar::sim::imc

#pragma once

#include <cstdint>
#include <optional>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"
#include "sim/dram/config.h"
#include "sim/nvdimm/block_table.h"
#include "sim/nvdimm/lazy_config.h"

namespace nearfar::sim::nvdimm {

/// What a miss of the translation buffer brings into the on-DIMM DRAM besides the translation.
enum class Fill : std::uint8_t {
  none,    ///< nothing: data always come from the media
  sector,  ///< the media blocks that are read, one by one
  page,    ///< the whole entry
};

/// One buffer level: `entries` of `entry` bytes, a power of two, in sets of `ways`.
struct BufferConfig {
  std::uint32_t entries = 0;
  Bytes entry = 0;
  std::uint32_t ways = 0;
  Replacement policy = Replacement::lru;
  Tick latency{};  ///< of a look-up
};

/// The media behind the controller. Times are per access of `access` bytes.
struct MediaConfig {
  Bytes capacity = 0;
  Bytes access = 0;
  std::uint32_t partitions = 0;
  Tick read_latency{};            ///< from its start until the block is there
  Tick read_interval{};           ///< between reads, whole DIMM
  Tick read_partition{};          ///< its partition is busy
  std::uint32_t page_reads = 0;   ///< blocks of one page read at once; 0: any number
  Tick write_interval{};          ///< between writes, whole DIMM
  Tick write_partition{};         ///< its partition is busy
  std::uint32_t write_queue = 0;  ///< writes between the load-store queue and the media
  std::uint32_t write_high = 0;   ///< waiting writes that go before reads
  std::uint32_t write_batch = 0;  ///< writes in a row before waiting reads get their turn
  std::uint32_t read_batch = 0;   ///< reads that may pass a waiting write
  double read_energy_pj = 0;
  double write_energy_pj = 0;
};

/// The whole DIMM's power.
struct PowerConfig {
  double budget_mw = 0;  ///< on average, all in all; 0: no limit
  Tick window{};         ///< what was not drawn may be drawn so much later
  double idle_mw = 0;    ///< drawn at all times, the DRAM's standby included
  double line_pj = 0;    ///< a 64-byte line that goes into or out of the DIMM's SRAM
};

/// A family of short stalls that come after a number of writes to the DIMM.
struct MinorStall {
  std::uint64_t interval = 0;  ///< writes; 0: never
  Tick stall{};
};

struct WearConfig {
  std::uint64_t writes = 0;  ///< media writes to one block before it moves; 0: never
  double spread = 0;         ///< the threshold is drawn from writes * (1 +- spread)
  Bytes block = 0;
  Tick stall{};              ///< the block is out of reach while it moves
  std::uint64_t spares = 0;  ///< free blocks that take part in the rotation
  MinorStall minor[2];
};

struct LsqConfig {
  std::uint32_t lines = 0;
  std::uint32_t high = 0;  ///< lines held before blocks must leave
  bool drain_on_fence = false;  ///< an mfence sends everything held on its way
  Tick hold{};             ///< a block leaves at this age at the latest
  Tick latency{};
};

/// Pre-translation: what the DIMM remembers of where pointers lead.
struct PretranslationConfig {
  Bytes table = 0;           ///< in the on-DIMM DRAM, in parts of `slots` entries
  std::uint32_t slots = 0;   ///< of a page that has a part
  Replacement policy = Replacement::lru;  ///< which page loses its part
  std::uint32_t rlb_entries = 0;
  Tick rlb_latency{};
  double rlb_pj = 0;  ///< an entry of the RLB looked up or written

  static constexpr Bytes entry = 8;  ///< a frame's number and the pointer's place in its page
  [[nodiscard]] Bytes part() const { return slots * entry; }
};

/// A DIMM has one to three buffer levels. The first holds data in SRAM (read-modify-write
/// buffer). The last of several holds translations, and data if `fill` says so, in the on-DIMM
/// DRAM (AIT buffer). What is between them, of three, holds data.
struct Config {
  LsqConfig lsq;
  BufferConfig rmw;
  std::uint32_t rmw_lanes = 1;  ///< blocks go round the lanes by which lines leave
  Tick rmw_line{};              ///< between two lines of a lane
  std::optional<BufferConfig> middle;
  std::optional<BufferConfig> ait;  ///< without it every translation reads the table
  Fill fill = Fill::none;
  Tick data_latency{};  ///< of reading buffered data, beyond the look-up and the DRAM itself
  Bytes table_entry = 8;
  Tick table_latency{};  ///< of reading an entry, beyond the DRAM itself
  MediaConfig media;
  PowerConfig power;
  WearConfig wear;
  std::optional<PretranslationConfig> pretranslation;
  std::optional<LazyConfig> lazy;
  dram::Config dram;
  std::uint64_t seed = 0;

  /// What one entry of the indirection table maps: an entry of the buffer before it, or what
  /// wear-levelling moves as one.
  [[nodiscard]] Bytes page() const { return ait ? ait->entry : wear.block; }
  /// From where on the on-DIMM DRAM is free: behind the indirection table and buffered data.
  [[nodiscard]] Bytes dram_used() const;
  /// What the budget leaves for accesses: the rest goes into standing idle and into refresh of
  /// the DRAM. 0: no limit.
  [[nodiscard]] double access_mw() const;
};

/// Reads the keys below `nvdimm.`; throws InputError when one is missing or the values do
/// not fit together.
[[nodiscard]] Config config_from(const Settings& settings);

}  // namespace nearfar::sim::nvdimm

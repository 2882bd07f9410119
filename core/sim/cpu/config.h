#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"
#include "sim/cpu/replacement.h"

namespace nearfar::sim::cpu {

struct CacheConfig {
  Bytes size = 0;
  std::uint32_t ways = 0;
  Tick latency{};
  std::uint32_t mshrs = 1;   ///< misses waited for at once
  std::uint32_t slices = 1;  ///< over which a hash spreads the lines
  Policy policy = Policy::lru;
};

struct TlbConfig {
  Bytes page = 0;                     ///< 4 KiB or 2 MiB
  std::uint32_t entries = 1;          ///< first level, for 4 KiB pages
  std::uint32_t huge_entries = 1;     ///< first level, for 2 MiB pages
  std::uint32_t ways = 1;
  std::uint32_t huge_ways = 1;
  std::uint32_t second_entries = 1;
  std::uint32_t second_ways = 1;
  std::uint32_t directory_entries = 1;  ///< page-directory entries that the walkers remember
  std::uint32_t walkers = 1;            ///< page walks that go on at once
  Tick second_latency{};
};

struct PrefetchConfig {
  bool adjacent = false;
  bool stream = false;
  std::uint32_t streams = 1;
  std::uint32_t degree = 1;    ///< lines proposed at each access
  std::uint32_t distance = 1;  ///< lines ahead at most
  bool next_page = false;      ///< a sequence goes on beyond its 4 KiB page
};

/// Where page tables lie.
struct TableConfig {
  Address base{};  ///< of their part of memory
  Bytes size = 0;  ///< of that; 0: they lie apart, in a memory that is not the machine's
  Tick apart{};    ///< what a read of that one takes
};

/// The processor's side of Pre-translation.
struct PretranslationConfig {
  bool enabled = false;
  bool check_at_arrival = true;  ///< of an entry; if not, at its use
  bool probe = false;  ///< a marked load that the caches serve asks the DIMM for the entry alone
  bool speculate =
      false;  ///< a read by an unchecked entry is not held; stale, its data are dropped
  std::uint32_t entries = 1;  ///< unchecked ones that a core has
  std::uint32_t uncertain = 1;  ///< reads in the controllers' queues at once
  Tick update{};  ///< core to memory controller, of where a pointer leads
};

/// Everything between a core and the way to memory.
struct HierarchyConfig {
  CacheConfig l1, l2, l3;
  TlbConfig tlb;
  PrefetchConfig prefetch;
  bool inclusive = false;  ///< L3 has everything that the cores have
  std::uint32_t writebacks = 1;  ///< of a core, on their way to memory
  TableConfig tables;
  PretranslationConfig pretranslation;
};

/// The request agent: what of a core decides how it loads memory. Not a core model: no
/// instruction is executed, but the limits that a core puts on its memory traffic are here.
struct Config {
  std::uint32_t cores = 0;  ///< threads beyond are second threads of theirs
  std::uint32_t load_buffers = 0;  ///< lines a core waits for at once (loads and RFOs)
  std::uint32_t wc_buffers = 0;  ///< write-combining buffers: NT stores in flight
  std::uint32_t store_lines = 0;  ///< lines that cached stores wait for at once
  std::uint32_t store_queue = 0;  ///< stores and flushes not yet committed
  std::uint32_t flush_buffers = 0;  ///< cache-line write-backs (clwb) in flight
  std::uint32_t rob = 0;  ///< reorder buffer, in instructions

  Tick load_issue{};  ///< between loads
  Tick store_issue{};  ///< between stores
  Tick read_out{};  ///< core to memory controller
  Tick read_back{};  ///< memory controller to core
  Tick nt_out{};  ///< NT store to the write pending queue
  Tick nt_back{};  ///< acceptance there to the buffer's release
  Tick flush_out{};
  Tick flush_back{};  ///< acceptance to what a fence waits for
  Tick flush_occupancy{};  ///< a flush buffer is taken at least this long
  Tick sfence{};
  std::uint32_t fence_lines_ahead = 0;  ///< sfences past which stores still ask for their lines
  Tick mfence{};
  Tick timer{};  ///< reading the clock, with its own fence

  // Instructions of the measuring loops, which share the reorder buffer with the accesses.
  std::uint32_t line_instructions = 0;  ///< for each line
  std::uint32_t strided_access_instructions = 0;  ///< for each access at a stride, besides
  std::uint32_t random_access_instructions = 0;  ///< for each access at random, besides

  std::uint32_t reorder_reads = 0;  ///< of a core's lines that a full queue refused, so many
  std::uint32_t reorder_writes = 0;  ///< oldest may enter next; 0: all in order of arrival

  /// Whether cached loads and stores go through `caches`. If not, every load is a miss, and
  /// `caches` serves a chase's index table alone.
  bool cached = false;
  bool clwb_keeps = false;  ///< clwb leaves its line in the caches
  HierarchyConfig caches;
  Bytes writeback_lines = 0;  ///< not cached: dirty lines held before plain stores evict

  /// Reads the keys below `cpu.`; throws InputError when one is missing.
  [[nodiscard]] static Config from(const Settings& settings);

  /// No core at all: requests reach the memory at once, `outstanding` of them in flight.
  [[nodiscard]] static Config none(std::uint32_t outstanding);
};

}  // namespace nearfar::sim::cpu

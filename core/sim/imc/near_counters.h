#pragma once

#include <cstdint>

#include "base/counters.h"

namespace nearfar::sim::imc {

/// What a near memory did. The DRAM's own counters say the same in commands.
struct NearCounters {
  std::uint64_t reads = 0;  ///< requests by the processor
  std::uint64_t writes = 0;
  std::uint64_t read_hits = 0;
  std::uint64_t read_misses = 0;
  std::uint64_t write_hits = 0;
  std::uint64_t write_misses = 0;
  std::uint64_t prefetches = 0;       ///< lines looked for because the one before was missed
  std::uint64_t prefetch_misses = 0;  ///< of those, what came from far memory
  std::uint64_t direct_reads = 0;     ///< App Direct
  std::uint64_t direct_writes = 0;
  std::uint64_t refusals = 0;

  std::uint64_t probes = 0;  ///< near DRAM accesses, by purpose
  std::uint64_t data_reads = 0;
  std::uint64_t victim_reads = 0;
  std::uint64_t fills = 0;
  std::uint64_t claims = 0;
  std::uint64_t data_writes = 0;
  std::uint64_t tag_writes = 0;

  std::uint64_t fetches = 0;  ///< far memory accesses, by purpose
  std::uint64_t write_backs = 0;
  std::uint64_t write_throughs = 0;

  std::uint64_t read_time_ps = 0;  ///< of all answered reads, from taken to answered

  void add_to(Counters& counters) const {
    counters.add("near.reads", reads);
    counters.add("near.writes", writes);
    counters.add("near.read_hits", read_hits);
    counters.add("near.read_misses", read_misses);
    counters.add("near.write_hits", write_hits);
    counters.add("near.write_misses", write_misses);
    counters.add("near.prefetches", prefetches);
    counters.add("near.prefetch_misses", prefetch_misses);
    counters.add("near.direct_reads", direct_reads);
    counters.add("near.direct_writes", direct_writes);
    counters.add("near.refusals", refusals);
    counters.add("near.probes", probes);
    counters.add("near.data_reads", data_reads);
    counters.add("near.victim_reads", victim_reads);
    counters.add("near.fills", fills);
    counters.add("near.claims", claims);
    counters.add("near.data_writes", data_writes);
    counters.add("near.tag_writes", tag_writes);
    counters.add("near.fetches", fetches);
    counters.add("near.write_backs", write_backs);
    counters.add("near.write_throughs", write_throughs);
    counters.add("near.read_time_ps", read_time_ps);
  }
};

}  // namespace nearfar::sim::imc

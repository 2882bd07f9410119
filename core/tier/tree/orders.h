#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/named.h"
#include "tier/far/compression.h"
#include "tier/os/eviction.h"
#include "tier/service/pager_cpu.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// What becomes of pages that are far.
#define NEARFAR_RESIDENCES(ENTRY)                                                                  \
  ENTRY(free, "free", "pages leave and come as usual")                                             \
  ENTRY(counted, "counted", "each process says how many are far; none leaves while there is room") \
  ENTRY(kept, "kept", "they come back, and none leaves while there is room")

enum class Residence : std::uint32_t { NEARFAR_RESIDENCES(NEARFAR_VALUE) };
inline constexpr Named all_residences[] = {NEARFAR_RESIDENCES(NEARFAR_NAMED)};

/// What a tree is told while it runs, and what its processes answer, at a fixed place in the shared
/// memory. A process that changes something here, or the limit, raises `generation` and rings the
/// tree's bell.
struct Orders {
  static constexpr std::size_t offset = std::size_t{384} << 10U;

  std::atomic<std::uint32_t> generation;
  std::atomic<Residence> residence;
  std::uint64_t latency_ps;  ///< charged for each page read from or written to far,
  std::uint64_t transfer_ps;  ///< and for 4 KiB that move, so much
  /// The process that has the tree's descriptors open, and its numbers for them.
  std::int32_t owner;
  std::int32_t control_descriptor;
  std::int32_t far_descriptor;
  std::int32_t bell_descriptor;
  Compression compression;  ///< of far pages
  os::Eviction eviction;
  PagerCpu pager_cpu;  ///< where the pager's threads run
  std::uint32_t far_store;  ///< kind of far memory, by its position among all (far_stores.h)

  /// One process's answer, at the position of its Member.
  struct Answer {
    std::atomic<std::uint32_t> generation;  ///< the last that it has carried out
    std::atomic<std::uint32_t> unused;
    std::atomic<std::uint64_t> far_pages;  ///< counted when it began that, unless residence is free
  };
  Answer answers[Control::most_members];
};
static_assert(sizeof(Control) <= Orders::offset);
static_assert(Orders::offset + sizeof(Orders) <= Control::bytes);
static_assert(offsetof(Orders, answers) == 56);

[[nodiscard]] inline Orders& orders_of(Control& control) {
  return *reinterpret_cast<Orders*>(reinterpret_cast<char*>(&control) + Orders::offset);
}

}  // namespace nearfar::tier

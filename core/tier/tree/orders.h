#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/far/codec.h"
#include "tier/os/uffd.h"
#include "tier/service/pager_cpu.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// What becomes of pages that are far.
enum class Residence : std::uint32_t {
  free,     ///< pages leave and come as usual
  counted,  ///< each process says how many are far, and none leaves but for want of room
  kept,     ///< they come back, too
};

/// What a tree is told while it runs, and what its processes answer, at a fixed place in the
/// shared memory (python/nearfar/tier/control.py has the same layout). Whoever changes something
/// here or the limit raises `generation` and rings the tree's bell.
struct Orders {
  static constexpr std::size_t offset = std::size_t{384} << 10U;

  std::atomic<std::uint32_t> generation;
  std::atomic<Residence> residence;
  std::uint64_t latency_ps;   ///< charged for each page read from or written to far,
  std::uint64_t transfer_ps;  ///< and for 4 KiB that move, so much
  /// Where the tree's descriptors are open: a process, and its numbers for them.
  std::int32_t owner;
  std::int32_t control_descriptor;
  std::int32_t far_descriptor;
  std::int32_t bell_descriptor;
  Compression compression;  ///< of far pages
  os::Eviction eviction;
  PagerCpu pager_cpu;  ///< where the pager's threads run
  std::uint32_t unused;

  /// One process's answer, at the place of its Member.
  struct Answer {
    std::atomic<std::uint32_t> generation;  ///< the last that it has followed
    std::atomic<std::uint32_t> unused;
    std::atomic<std::uint64_t> far_pages;   ///< when that was begun, unless residence is free
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

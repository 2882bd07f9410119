#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tier/tree/counts.h"

namespace nearfar::tier {

/// One process's part of the budget.
struct alignas(64) Member {
  std::atomic<std::int32_t> process;    ///< its number in /proc; 0: an empty place
  std::atomic<std::int32_t> forked_by;  ///< not 0: the parent, which gives up this place if it can
  std::atomic<std::uint64_t> near_pages;
  std::atomic<std::uint64_t> managed_pages;
  std::atomic<std::uint64_t> unmanaged_peak;
  std::atomic<std::uint64_t> far_slots;  ///< that this process has taken
  std::atomic<std::int32_t> pager_thread;  ///< the first thread that serves its faults
  std::atomic<std::uint32_t> flat_near;  ///< pages of each tier, where both are addressed directly
  std::atomic<std::uint64_t> region;  ///< address of its Region, for a reader of its memory
  std::atomic<std::uint32_t> flat_far;
};

/// What the processes of one launched tree share. The launcher makes it, all zeros but for the
/// first four words, and keeps it open. Behind it lie the users of each slot, and a word for each
/// chunk of slots (far_stores.h).
struct Control {
  static constexpr std::uint64_t expected_magic = 0x3172656974666e;  // "nftier1"
  static constexpr std::size_t bytes = std::size_t{512} << 10U;  // with Orders and Chunks::Totals
  static constexpr std::size_t most_members = 4096;

  std::uint64_t magic;
  std::atomic<std::uint64_t> limit_pages;  ///< may change while the tree runs
  std::uint64_t far_slots;
  std::uint32_t policy;  ///< of replacement, by its position among all
  std::int32_t fault_log;  ///< the launcher's number for the file that faults are recorded in, or 0
  std::atomic<std::uint64_t> near_total;
  std::atomic<std::uint64_t> managed_total;
  std::atomic<std::uint64_t> slots_end;
  std::atomic<std::uint64_t> slots_used;
  std::atomic<std::uint64_t> counts[number_of_counts];
  std::atomic<std::uint64_t> members_end;  ///< no place from this one on was ever taken
  std::atomic<std::uint64_t> stored_bytes;  ///< of the slots in use
  std::atomic<std::uint64_t> wanted_pages;  ///< free pages that a waiting process needs
  Member members[most_members];

  /// The places that have ever been taken.
  [[nodiscard]] std::span<Member> used_members() { return {members, members_end.load()}; }

  void add(Count what, std::uint64_t n = 1) {
    if (n == 0) return;
    counts[static_cast<std::size_t>(what)].fetch_add(n, std::memory_order_relaxed);
  }
  void raise(Count what, std::uint64_t to) {
    std::atomic<std::uint64_t>& peak = counts[static_cast<std::size_t>(what)];
    std::uint64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < to && !peak.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
    }
  }
};
static_assert(sizeof(Control) <= Control::bytes);

}  // namespace nearfar::tier

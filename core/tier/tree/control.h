#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfar::tier {

/// What is counted, over all processes of a launched tree. The launcher reads them by position
/// (python/nearfar/tier/control.py names them in this order).
enum class Count : std::uint8_t {
  faults,           ///< touches that had to wait
  copies_in,        ///< pages copied from the far file
  copies_out,       ///< pages copied to it
  first_touches,    ///< pages that came as zeros
  evictions,        ///< pages taken out of their place
  second_chances,   ///< of those, wanted again before they had left RAM
  clean_drops,      ///< of those, dropped because the far file had the same contents
  zero_drops,       ///< of those, dropped because they held zeros
  read_ahead,       ///< pages brought in beyond the one touched
  read_ahead_hits,  ///< of those, known to have been of use
  pinned,           ///< attempts on pages that the kernel would not give up
  over_budget,      ///< pages granted beyond the limit because nothing could be evicted
  forks,
  near_peak,       ///< most near pages at once
  managed_peak,    ///< most managed pages at once, wherever they were
  unmanaged_peak,  ///< most anonymous pages outside at once, summed over processes
  slots_peak,      ///< most slots of the far file in use
  stored_peak,     ///< most bytes of the far file in use
  stall_ns,  ///< threads waiting for faults: from when the pager learns of one until it wakes
  emulated_ns,  ///< charged for pages read from or written to emulated far memory
  delayed_ns,  ///< what these delays took, as measured
  guarded_ins,    ///< of copies_in, those that came write_protected
  guards_broken,  ///< of those, written to before they left
  guarded_drops,  ///< of clean_drops, those known by their guard to be clean
  filled_drops,  ///< pages that left without a copy, as one word over and over
  window_touches,  ///< of first_touches, those that the kernel served without the pager
  huge_moves,      ///< times that 2 MiB were moved as one
  huge_ins,        ///< times that 2 MiB came back as one
  ready_ins,       ///< of huge_ins, those that had been read when they were touched
  recycled_ins,    ///< times that 2 MiB were to be read to the memory of others that had left
  split_ins,       ///< times that they were to, and came in small pages
  gathered,  ///< times that 2 MiB which came so became a huge page again
  followed,  ///< faults while the pager's thread was kept on the processor of one who faults
  outside,  ///< times that a program was executed which the library is not in
  count
};

/// One process's part of the budget.
struct alignas(64) Member {
  std::atomic<std::int32_t> process;
  std::atomic<std::int32_t> forked_by;  ///< not 0: the parent, which ends this place if it can
  std::atomic<std::uint64_t> near_pages;
  std::atomic<std::uint64_t> managed_pages;
  std::atomic<std::uint64_t> unmanaged_peak;
  std::atomic<std::uint64_t> far_slots;  ///< that are this process's own
  std::atomic<std::int32_t> pager_thread;  ///< which serves faults while others are stopped
  std::atomic<std::uint64_t> region;  ///< where its Region is, for who reads its memory
};

/// What the processes of one launched tree share. The launcher makes it, as zeros but for the
/// first four words, and keeps it open; behind it lie a count of users for each slot, and a word
/// for each chunk of slots.
struct Control {
  static constexpr std::uint64_t expected_magic = 0x3172656974666e;  // "nftier1"
  static constexpr std::size_t bytes = std::size_t{512} << 10U;  // the counts of users follow
  static constexpr std::size_t most_members = 4096;

  std::uint64_t magic;
  std::atomic<std::uint64_t> limit_pages;  ///< may change while the tree runs
  std::uint64_t far_slots;
  std::uint32_t policy;  ///< by its position among all
  std::int32_t fault_log;  ///< the launcher's number for the file that faults are recorded in, or 0
  std::atomic<std::uint64_t> near_total;
  std::atomic<std::uint64_t> managed_total;
  std::atomic<std::uint64_t> slots_end;
  std::atomic<std::uint64_t> slots_used;
  std::atomic<std::uint64_t> counts[static_cast<std::size_t>(Count::count)];
  std::atomic<std::uint64_t> members_end;  ///< no place from here on was ever taken
  std::atomic<std::uint64_t> stored_bytes;  ///< what the slots in use take
  std::atomic<std::uint64_t> wanted_pages;  ///< at once, by a process that waits for them
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
static_assert(offsetof(Control, counts) == 64);

}  // namespace nearfar::tier

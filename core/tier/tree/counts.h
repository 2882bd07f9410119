#pragma once

#include <cstddef>
#include <cstdint>

#include "base/named.h"

namespace nearfar::tier {

/// What is counted, over all processes of a launched tree.
#define NEARFAR_TIER_COUNTS(ENTRY)                                                                \
  ENTRY(faults, "faults", "touches that waited for the pager")                                    \
  ENTRY(copies_in, "copies_in", "pages copied from far memory")                                   \
  ENTRY(copies_out, "copies_out", "pages copied to far memory")                                   \
  ENTRY(first_touches, "first_touches", "pages that came as zeros")                               \
  ENTRY(evictions, "evictions", "pages taken out of their place")                                 \
  ENTRY(second_chances, "second_chances", "evicted pages touched again before they had left RAM") \
  ENTRY(clean_drops, "clean_drops", "evicted pages that equalled their far copy")                 \
  ENTRY(zero_drops, "zero_drops", "evicted pages that held zeros")                                \
  ENTRY(read_ahead, "read_ahead", "pages brought in beside the one that was touched")             \
  ENTRY(read_ahead_hits, "read_ahead_hits",                                                       \
        "pages of read_ahead that are known to have been used")                                   \
  ENTRY(pinned, "pinned", "attempts to evict pages that the kernel would not give up")            \
  ENTRY(over_budget, "over_budget", "pages granted beyond the limit as nothing could be evicted") \
  ENTRY(forks, "forks", "processes forked")                                                       \
  ENTRY(near_peak, "near_peak", "most near pages at once")                                        \
  ENTRY(managed_peak, "managed_peak", "most managed pages at once, near and far")                 \
  ENTRY(unmanaged_peak, "unmanaged_peak",                                                         \
        "most anonymous pages outside management at once, summed over processes")                 \
  ENTRY(slots_peak, "slots_peak", "most slots of far memory in use")                              \
  ENTRY(stored_peak, "stored_peak", "most bytes of far memory in use")                            \
  ENTRY(stall_ns, "stall_ns",                                                                     \
        "time that threads waited, from when the pager learns of a fault "                        \
        "until it wakes the thread")                                                              \
  ENTRY(emulated_ns, "emulated_ns", "delay charged for traffic of emulated far memory")           \
  ENTRY(delayed_ns, "delayed_ns", "what these delays took, as measured")                          \
  ENTRY(protected_ins, "protected_ins", "pages of copies_in that came write-protected")           \
  ENTRY(protected_writes, "protected_writes",                                                     \
        "pages of protected_ins written to before they left")                                     \
  ENTRY(protected_drops, "protected_drops",                                                       \
        "pages of clean_drops still write-protected, so that "                                    \
        "nothing had to be compared")                                                             \
  ENTRY(zero_reads, "zero_reads", "pages shown as zeros, read before they were ever written")     \
  ENTRY(zero_writes, "zero_writes", "pages of zero_reads written to since, which came near")      \
  ENTRY(filled_drops, "filled_drops", "evicted pages that were one repeated word")                \
  ENTRY(window_touches, "window_touches", "pages of first_touches served by the kernel alone")    \
  ENTRY(huge_moves, "huge_moves", "times that 2 MiB left as one page")                            \
  ENTRY(huge_ins, "huge_ins", "times that 2 MiB came back as one page")                           \
  ENTRY(ready_ins, "ready_ins", "times of huge_ins that had been read before they were touched")  \
  ENTRY(recycled_ins, "recycled_ins",                                                             \
        "times that 2 MiB were read into the memory of others that had left")                     \
  ENTRY(split_ins, "split_ins",                                                                   \
        "times that 2 MiB should have come back as one page and came as "                         \
        "small ones")                                                                             \
  ENTRY(collapsed, "collapsed", "times that 2 MiB of small pages were collapsed into one")        \
  ENTRY(kept_faults, "kept_faults",                                                               \
        "faults served while the pager ran on the processor of the thread "                       \
        "that faulted")                                                                           \
  ENTRY(outside, "outside", "programs executed that the library is not in")                       \
  ENTRY(promoted, "promoted", "pages that were moved to near memory, with --flat")                \
  ENTRY(demoted, "demoted", "pages that were moved to far memory, with --flat")                   \
  ENTRY(groups_exchanged, "groups_exchanged",                                                     \
        "times that all of 2 MiB came near, most of it by one decision, with --flat")             \
  ENTRY(refused, "refused", "moves of pages that the kernel would not make, with --flat")         \
  ENTRY(scanned, "scanned", "times that a scan looked at a page, with --flat")                    \
  ENTRY(found_used, "found_used", "times that it found the page used")                            \
  ENTRY(probe_faults, "probe_faults",                                                             \
        "faults of the program at pages that had been unmapped to see whether they are used")     \
  ENTRY(decisions, "decisions", "times that the policy was asked what to exchange, with --flat")  \
  ENTRY(detector_ns, "detector_ns", "processor time of finding out which pages are used")         \
  ENTRY(mover_ns, "mover_ns", "processor time of moving pages, with --flat")                      \
  ENTRY(longest_away_ns, "longest_away_ns",                                                       \
        "longest time that a page was out of its place to be moved, with --flat")

enum class Count : std::uint8_t { NEARFAR_TIER_COUNTS(NEARFAR_VALUE) };
inline constexpr Named all_counts[] = {NEARFAR_TIER_COUNTS(NEARFAR_NAMED)};
inline constexpr std::size_t number_of_counts = sizeof all_counts / sizeof *all_counts;

/// Whether it is a peak, of pages or of bytes.
[[nodiscard]] constexpr bool is_peak(Count what) {
  return what >= Count::near_peak && what <= Count::stored_peak;
}

}  // namespace nearfar::tier

#pragma once

#include <atomic>
#include <cstdint>

#include "base/named.h"

namespace nearfar::tier {

/// What a record of faults says of a page: that a policy was told of it, or answered.
#define NEARFAR_FAULT_EVENTS(ENTRY)                                \
  ENTRY(none, "none", "no event")                                  \
  ENTRY(fault, "fault", "the page was touched, and came in")       \
  ENTRY(ahead, "ahead", "it came in beside one that was touched")  \
  ENTRY(second_chance, "second_chance", "it was touched in limbo") \
  ENTRY(evicted, "evicted", "the policy named it")                 \
  ENTRY(refused, "refused", "it could not leave")                  \
  ENTRY(released, "released", "nothing is remembered of it")       \
  ENTRY(moved_from, "moved_from", "its number was this")           \
  ENTRY(moved_to, "moved_to", "and is this now; the event after moved_from")

enum class FaultEvent : std::uint8_t { NEARFAR_FAULT_EVENTS(NEARFAR_VALUE) };
inline constexpr Named all_fault_events[] = {NEARFAR_FAULT_EVENTS(NEARFAR_NAMED)};

/// How a record of faults begins; a word for each event follows.
struct FaultRecordHead {
  static constexpr char expected_magic[] = "nffault1";

  std::uint64_t magic;
  std::atomic<std::uint64_t> events;  ///< with those that found no room
  std::uint64_t near_pages;
  std::uint64_t policy;  ///< by its position among all
};

}  // namespace nearfar::tier

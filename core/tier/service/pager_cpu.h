#pragma once

#include <cstddef>
#include <cstdint>

#include "base/named.h"

namespace nearfar::tier {

/// On which processors the pager's threads serve faults. The first is a wish only: trials find the
/// fastest of the others (affinity_trials.h).
#define NEARFAR_PAGER_CPUS(ENTRY)                                                            \
  ENTRY(automatic, "auto", "whichever of the others serves faults fastest, found by trials") \
  ENTRY(any, "any", "the processor that the scheduler chooses")                              \
  ENTRY(same, "same", "the processor of the thread that faults")                             \
  ENTRY(same_idle, "same_idle",                                                              \
        "the same, by the scheduling policy for idle processors (SCHED_IDLE) if permitted")  \
  ENTRY(per_cpu, "per_cpu", "a pager thread on each of several processors, each as same_idle")

enum class PagerCpu : std::uint32_t { NEARFAR_PAGER_CPUS(NEARFAR_VALUE) };
inline constexpr Named all_pager_cpus[] = {NEARFAR_PAGER_CPUS(NEARFAR_NAMED)};

[[nodiscard]] constexpr const char* name_of(PagerCpu cpu) {
  return all_pager_cpus[static_cast<std::size_t>(cpu)].name;
}

}  // namespace nearfar::tier

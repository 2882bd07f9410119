#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nearfar::tier {

/// On which processors the pager's threads serve faults. The first is a wish only: trials find the
/// fastest of the others (affinity_trials.h).
enum class PagerCpu : std::uint32_t {
  automatic,
  any,        ///< the processor that the scheduler chooses
  same,       ///< the processor of the thread that faults
  same_idle,  ///< the same, by the scheduling policy for idle processors (SCHED_IDLE) if permitted
  per_cpu,  ///< a pager thread on each of several processors, each as with `same_idle`
};

/// In the order of the values. The launcher names them by position
/// (python/nearfar/tier/control.py).
inline constexpr std::array<const char*, 5> pager_cpu_names{"auto", "any", "same", "same_idle",
                                                            "per_cpu"};

[[nodiscard]] constexpr const char* name_of(PagerCpu cpu) {
  return pager_cpu_names[static_cast<std::size_t>(cpu)];
}

}  // namespace nearfar::tier

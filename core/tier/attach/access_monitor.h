#pragma once

#include <cstdint>
#include <vector>

#include "tier/attach/process_memory.h"

namespace nearfar::tier::attach {

/// Finds out which parts of a process's memory were accessed, read or written, in rounds: the seam
/// at which tests put a monitor of their own in place of the kernel's.
class AccessMonitor {
 public:
  AccessMonitor() = default;
  AccessMonitor(const AccessMonitor&) = delete;
  AccessMonitor& operator=(const AccessMonitor&) = delete;
  virtual ~AccessMonitor() = default;

  /// These areas, in order of address, are watched from now on. Throws InputError where the kernel
  /// refuses: then those before are watched on.
  virtual void watch(const std::vector<Area>& areas) = 0;
  /// Takes up what has been found; whether a round has ended since `take`.
  virtual bool listen() = 0;
  /// What was accessed in the rounds since the call before, in order of address.
  [[nodiscard]] virtual std::vector<Area> take() = 0;
  /// How much of what was found has been lost, in events of the kernel's.
  [[nodiscard]] virtual std::uint64_t lost() const { return 0; }
  /// Processor time that watching has taken of other threads than the caller's.
  [[nodiscard]] virtual std::uint64_t cpu_ns() const = 0;
  /// Watches nothing any more.
  virtual void end() = 0;
};

}  // namespace nearfar::tier::attach

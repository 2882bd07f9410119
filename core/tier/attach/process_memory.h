#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tier/os/system.h"

namespace nearfar::tier::attach {

using os::page_bytes;
using os::Place;

/// A part of a process's memory.
struct Area {
  Place begin = 0;
  Place end = 0;
  friend bool operator==(const Area&, const Area&) = default;
};

/// Neighbouring pages in RAM of which the same is known.
struct Run {
  Place begin = 0;
  Place end = 0;
  bool written = false;  ///< since writes were last forgotten
  bool huge = false;  ///< mapped as whole huge pages
  bool accessed = false;  ///< read or written since the look before, where that is watched
};

/// The memory of a process, as another one looks at it and moves it between nodes: the seam at
/// which tests put memory of two nodes in place of the kernel's.
class ProcessMemory {
 public:
  ProcessMemory() = default;
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  virtual ~ProcessMemory() = default;

  /// Calls `found` with what is in RAM and can be managed, in order of address. False if the
  /// process has ended, or may be looked at no more.
  virtual bool look(const std::function<void(const Run&)>& found) = 0;
  /// From now on, writes are noted anew. False as for `look`.
  virtual bool forget_writes() = 0;
  /// The node of each page; below 0 where there is no page.
  virtual void find_nodes(std::span<const Place> pages, std::span<int> nodes) = 0;
  /// Moves pages to a node; the node of each afterwards, or -errno of one that stays. The rest of a
  /// huge page moves with it.
  virtual void move(std::span<const Place> pages, int node, std::span<int> nodes) = 0;
  /// What was managed in the last look, or can be before the first, in order of address.
  [[nodiscard]] virtual std::vector<Area> areas() const = 0;
  /// Whether another look would tell more of what is used than the last one.
  [[nodiscard]] virtual bool has_news() { return true; }
  /// It is looked at no more.
  virtual void leave() {}
  /// How much of what was found used has been lost, in events of the kernel's.
  [[nodiscard]] virtual std::uint64_t lost() const { return 0; }
  /// Processor time of the calling thread.
  [[nodiscard]] virtual std::uint64_t thread_ns() const = 0;
  /// Processor time that looking has taken of other threads.
  [[nodiscard]] virtual std::uint64_t others_ns() const { return 0; }
};

}  // namespace nearfar::tier::attach

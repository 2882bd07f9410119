#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tier/swap/os/process.h"

namespace nearfar::tier::swap {

/// How much a tree of processes holds, in pages, read cheaply and between looks.
struct Reading {
  std::uint64_t near = 0;     ///< anonymous pages in RAM
  std::uint64_t swapped = 0;  ///< pages in swap; 0 without a control group
  std::uint64_t faults = 0;   ///< of any kind, so far; 0 without a control group
  std::uint64_t page_ins = 0;  ///< faults that had to wait, so far; 0 without a control group
};

/// Reads it from a control group of the tree's own where there is one, which counts a page that
/// several processes share once; else from the counters of each process, which do not.
class Gauge {
 public:
  /// `group`: the folder of the control group, or empty.
  Gauge(const std::string& group, bool unified);

  [[nodiscard]] bool grouped() const { return !group_.empty(); }
  [[nodiscard]] Reading read(const std::vector<pid_t>& processes) const;
  /// Where the group makes a process that lacks memory wait rather than be killed: whether one
  /// does.
  [[nodiscard]] bool process_waits() const;
  /// Has those try again. The kernel wakes none when pages go to swap, but does when a limit,
  /// here one of so many pages, becomes larger for a moment.
  void wake(std::uint64_t limit) const;
  /// From now on a process that lacks memory is killed.
  void give_up_waiting() const;
  /// The tree's processes now, in order of their numbers; `launcher` inherits its orphans.
  [[nodiscard]] std::vector<pid_t> processes(pid_t launcher) const;

 private:
  std::string group_;
  bool unified_;
};

}  // namespace nearfar::tier::swap

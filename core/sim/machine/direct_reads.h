#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fifo.h"
#include "sim/cpu/agent.h"
#include "sim/cpu/program.h"
#include "sim/device.h"

namespace nearfar::sim {

/// Plays one thread's loads on a device of one queue as cpu::Agent does without a core
/// (cpu::Config::none()): so many lines are under way, each issued when another is there, and they
/// enter memory in that order. As nothing stands between the thread and the queue, no event is
/// kept for them: a load is a slot that comes back with its completion. Every time and count is
/// the agent's.
class DirectReads {
 public:
  /// `outstanding` > 0. Time goes on from `now`.
  DirectReads(Device& device, std::uint32_t outstanding, Tick now);

  /// Runs `program`, which has nothing but loads, up to `limits.lines` > 0; of the limits that and
  /// `warm_lines` count. `poll` is called every 65,536 lines.
  cpu::Agent::Measured run(cpu::Program& program, const cpu::Agent::Limits& limits,
                           const std::function<void()>& poll);

  /// When the last load was there.
  [[nodiscard]] Tick now() const { return now_; }

 private:
  void step();
  void collect();

  Device& device_;
  Tick now_;
  Fifo<std::uint32_t> free_;  ///< slots, in the order in which their loads came back
  std::vector<Tick> issued_;  ///< by slot: when it came back, which is when its next load is issued
  std::uint64_t done_ = 0;
  std::uint64_t first_timed_ = 0;  ///< the completion from which on latencies count
  Sink sink_;
  cpu::Agent::Measured measured_;
};

}  // namespace nearfar::sim

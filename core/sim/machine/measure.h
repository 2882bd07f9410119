#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/settings.h"
#include "sim/cpu/agent.h"
#include "sim/cpu/patterns.h"
#include "sim/dram/command.h"

namespace nearfar::sim {

/// The microbenchmarks, run on a machine built for the purpose from resolved settings, each
/// from the same seeded initial state. All throw InputError for a pattern that the machine
/// cannot run.

/// One measured point: times in ps, sizes in bytes.
struct Point {
  std::string op;
  std::uint64_t threads = 1;
  std::uint64_t lines = 0;  ///< 64 B lines accessed while it was measured, all threads
  std::uint64_t other_lines = 0;  ///< of a contention: those of the threads beside the reader
  Tick elapsed{};
  /// Of a stream: how long the writes that were still queued at its end took to leave the memory's
  /// queues. They count as accessed.
  Tick drain{};
  Histogram latency;  ///< of single loads, in ps; empty for stores
  std::vector<Tick> samples;  ///< of overwrites
  std::vector<Counters::Reading> counters;  ///< over the whole run, warm-up included
};

/// The patterns. `visit_fields` calls `visit(name, field)` for each field that may be set, by the
/// name that a pattern's option has on the command line; front ends fill patterns in through it.

/// Whether a core's limits shape the accesses.
struct AgentChoice {
  bool core = true;
  std::uint32_t outstanding = 0;  ///< without a core: lines in flight for a thread; with: 0, or a
                                  ///< lower limit than the core's own
};

struct ChasePattern {
  Bytes region = 0;  ///< of its blocks
  Bytes block = line_bytes;
  Bytes stride = 0;  ///< between blocks' beginnings; 0: one follows the other
  std::vector<std::string> ops;  ///< stores first, then loads
  bool repeat = false;
  bool raw = false;  ///< read after write: one timing over stores and loads of each region
  cpu::FencePlace fence = cpu::FencePlace::region;
  cpu::FenceKind fence_kind = cpu::FenceKind::mfence;
  std::uint32_t threads = 1;
  std::uint64_t lines = 0;  ///< a thread, at least, in whole regions; 0: enough
  std::uint64_t walk_lines = 0;  ///< 0: whole regions; else the walk is cut after this many
  AgentChoice agent;

  /// What a region takes of memory.
  [[nodiscard]] Bytes span() const { return stride == 0 ? region : region / block * stride; }

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("region", self.region);
    visit("block", self.block);
    visit("stride", self.stride);
    visit("ops", self.ops);
    visit("repeat", self.repeat);
    visit("raw", self.raw);
    visit("fence", self.fence);
    visit("fence_kind", self.fence_kind);
    visit("threads", self.threads);
    visit("lines", self.lines);
    visit("walk_lines", self.walk_lines);
    visit("agent", self.agent);
    visit("outstanding", self.agent.outstanding);
  }
};
[[nodiscard]] std::vector<Point> measure(const Settings& settings, const ChasePattern& pattern,
                                         const std::function<void()>& poll = {},
                                         dram::CommandLog* log = nullptr);

struct OverwritePattern {
  Bytes region = 256;
  std::uint64_t writes = 0;
  std::string op = "ntstore";
  cpu::FenceKind fence_kind = cpu::FenceKind::mfence;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("region", self.region);
    visit("writes", self.writes);
    visit("op", self.op);
    visit("fence_kind", self.fence_kind);
  }
};
[[nodiscard]] Point measure(const Settings& settings, const OverwritePattern& pattern,
                            const std::function<void()>& poll = {},
                            dram::CommandLog* log = nullptr);

struct StreamPattern {
  std::string op = "load";
  Bytes access = line_bytes;
  Bytes stride = 0;  ///< 0: random
  std::uint32_t threads = 1;
  Bytes area = 0;  ///< a thread's
  std::uint32_t reads_percent = 0;
  Bytes fence_every = 0;
  cpu::FenceKind fence_kind = cpu::FenceKind::sfence;
  std::uint64_t lines = 0;  ///< of all threads; 0: enough for a steady figure
  AgentChoice agent;

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("access", self.access);
    visit("stride", self.stride);
    visit("threads", self.threads);
    visit("area", self.area);
    visit("reads_percent", self.reads_percent);
    visit("fence_every", self.fence_every);
    visit("fence_kind", self.fence_kind);
    visit("lines", self.lines);
    visit("agent", self.agent);
    visit("outstanding", self.agent.outstanding);
  }
};
[[nodiscard]] Point measure(const Settings& settings, const StreamPattern& pattern,
                            const std::function<void()>& poll = {},
                            dram::CommandLog* log = nullptr);

/// The latency of single reads beside other threads: one thread loads random lines, one at
/// a time; the others do the same (`other` "load"), load or store random lines as fast as they
/// can ("ntload", "ntstore", "store+clwb", "store") or with pauses, or are not there ("none").
struct ContentionPattern {
  std::string other = "none";
  Bytes area = 0;  ///< a thread's
  std::uint64_t reads = 0;
  std::uint32_t threads = 1;  ///< the others
  Tick delay{};  ///< after each access of another; after the answer to each of "load"

  template <typename Self, typename Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("other", self.other);
    visit("area", self.area);
    visit("reads", self.reads);
    visit("threads", self.threads);
    visit("delay_ps", self.delay);
  }
};
[[nodiscard]] Point measure(const Settings& settings, const ContentionPattern& pattern,
                            const std::function<void()>& poll = {},
                            dram::CommandLog* log = nullptr);

}  // namespace nearfar::sim

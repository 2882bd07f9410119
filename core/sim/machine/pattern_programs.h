#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/cpu/config.h"
#include "sim/cpu/patterns.h"
#include "sim/machine/measure.h"

namespace nearfar::sim {

/// The programs of the microbenchmarks' threads, one each. All throw InputError for an
/// operation that is not known.
using Programs = std::vector<std::unique_ptr<cpu::Program>>;

[[nodiscard]] bool is_load(const std::string& op);

/// One pass of a chase: of loads, of stores, or "raw", both.
struct ChasePass {
  std::string op;
  std::uint64_t regions = 1;  ///< walked by each thread
  Address base;  ///< of the first thread's first region; the other threads' follow
  Bytes span = 0;  ///< from one thread's to the next's
};

[[nodiscard]] Programs programs_of(const ChasePattern& pattern, const ChasePass& pass,
                                   const cpu::Config& core,
                                   const std::shared_ptr<const cpu::CyclicOrder>& order);
[[nodiscard]] Programs programs_of(const OverwritePattern& pattern);
[[nodiscard]] Programs programs_of(const StreamPattern& pattern, const cpu::Config& core,
                                   std::uint64_t seed);

/// The kind of an operation's step; of a load with a store to the same line, the load.
[[nodiscard]] cpu::Step::Kind kind_of(const std::string& op);

/// A step that persistence is about, a store, a flush or a fence, and the thread that takes it.
struct PersistentStep {
  std::uint32_t thread = 0;
  cpu::Step step;
};

/// Those of every thread, thread by thread, of the first `lines` lines that it accesses, and the
/// fences up to the next one.
[[nodiscard]] std::vector<PersistentStep> persistent_steps(Programs programs, std::uint64_t lines);

/// Those of a pattern as it is run; of a chase, of its stores.
[[nodiscard]] std::vector<PersistentStep> persistent_steps(const Settings& settings,
                                                           const ChasePattern& pattern);
[[nodiscard]] std::vector<PersistentStep> persistent_steps(const OverwritePattern& pattern);
[[nodiscard]] std::vector<PersistentStep> persistent_steps(const Settings& settings,
                                                           const StreamPattern& pattern);

}  // namespace nearfar::sim

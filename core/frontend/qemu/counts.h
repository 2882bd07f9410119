#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <span>

#include "frontend/qemu/recorder.h"
#include "sim/cpu/block.h"

namespace nearfar::frontend::qemu {

/// What a program did, counted whether or not it is simulated.
struct Counts {
  std::uint64_t instructions = 0;
  std::array<std::uint64_t, sim::cpu::instruction_kinds>
      kinds{};  ///< executions by InstructionKind
  std::uint64_t loads = 0;                ///< accesses: a 32-byte load is one
  std::uint64_t stores = 0;
  std::uint64_t load_bytes = 0;
  std::uint64_t store_bytes = 0;
  std::uint64_t flushes_unresolved = 0;  ///< flushes whose line is not known
  std::uint64_t prefetches_unresolved = 0;  ///< likewise
  std::uint64_t flushes_told = 0;        ///< flushes of lines that the guest library told
  std::uint64_t counters_read = 0;       ///< rdtsc
  std::uint64_t marked_loads = 0;        ///< for Pre-translation
  std::uint64_t system_calls = 0;

  void add(const Recorder::Run& run, std::span<const sim::cpu::Access> accesses) {
    if (!run.goes_on) {
      instructions += run.block->block.instructions.size();
      counters_read += run.block->counters_read;
      for (const sim::cpu::InstructionKind kind : run.block->counted) {
        ++kinds[static_cast<std::size_t>(kind)];
      }
    }
    for (const sim::cpu::Access& access : accesses) {
      marked_loads += access.pointer ? 1 : 0;
      if (access.size == 0) continue;
      ++(access.store ? stores : loads);
      (access.store ? store_bytes : load_bytes) += access.size;
    }
  }

  [[nodiscard]] std::uint64_t of(sim::cpu::InstructionKind kind) const {
    return kinds[static_cast<std::size_t>(kind)];
  }

  Counts& operator+=(const Counts& other) {
    instructions += other.instructions;
    for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] += other.kinds[i];
    loads += other.loads;
    stores += other.stores;
    load_bytes += other.load_bytes;
    store_bytes += other.store_bytes;
    flushes_unresolved += other.flushes_unresolved;
    prefetches_unresolved += other.prefetches_unresolved;
    flushes_told += other.flushes_told;
    counters_read += other.counters_read;
    marked_loads += other.marked_loads;
    system_calls += other.system_calls;
    return *this;
  }
};

/// As lines of a result.
void report(const Counts& counts, std::ostream& out);

}  // namespace nearfar::frontend::qemu

#include "frontend/qemu/counts.h"

namespace nearfar::frontend::qemu {

void report(const Counts& counts, std::ostream& out) {
  using enum sim::cpu::InstructionKind;
  out << "count.instructions = " << counts.instructions << "\n"
      << "count.loads = " << counts.loads << "\n"
      << "count.stores = " << counts.stores << "\n"
      << "count.load_bytes = " << counts.load_bytes << "\n"
      << "count.store_bytes = " << counts.store_bytes << "\n"
      << "count.nt_loads = " << counts.of(nt_load) << "\n"
      << "count.nt_stores = " << counts.of(nt_store) << "\n"
      << "count.atomics = " << counts.of(locked) << "\n"
      << "count.clwb = " << counts.of(flush) << "\n"
      << "count.clflushopt = " << counts.of(flush_invalidate) << "\n"
      << "count.clflush = " << counts.of(flush_ordered) << "\n"
      << "count.flushes_unresolved = " << counts.flushes_unresolved << "\n"
      << "count.flushes_told = " << counts.flushes_told << "\n"
      << "count.prefetches_unresolved = " << counts.prefetches_unresolved << "\n"
      << "count.store_fences = " << counts.of(store_fence) << "\n"
      << "count.load_fences = " << counts.of(load_fence) << "\n"
      << "count.full_fences = " << counts.of(full_fence) << "\n"
      << "count.prefetches = " << counts.of(prefetch) << "\n"
      << "count.pauses = " << counts.of(pause) << "\n"
      << "count.system_calls = " << counts.system_calls << "\n"
      << "count.counters_read = " << counts.counters_read << "\n"
      << "count.marked_loads = " << counts.marked_loads << "\n";
}

}  // namespace nearfar::frontend::qemu

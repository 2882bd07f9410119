#pragma once

#include <cstdint>
#include <string>

namespace nearfar::probe {

/// The widest vector registers an operation may use.
enum class Width : std::uint8_t { sse2, avx2, avx512 };

/// What this processor and its operating system offer of what the kernels use.
struct Isa {
  bool sse41 = false;  ///< movntdqa
  bool avx2 = false;
  bool avx512f = false;
  bool clflushopt = false;
  bool clwb = false;
  bool rdtscp = false;
  bool invariant_tsc = false;
  bool hypervisor = false;

  /// This machine's, read once.
  static const Isa& host();

  [[nodiscard]] Width width() const;
};

/// What a kernel does to a line. The `+` operations write or drop the line right after.
enum class Op : std::uint8_t {
  load,
  nt_load,
  load_clflushopt,
  load_store,
  store,
  nt_store,
  store_clwb,
  store_clflushopt,
};

/// Whether it answers what the line holds; `load_store` then changes the line as well.
[[nodiscard]] constexpr bool is_load(Op op) {
  return op == Op::load || op == Op::nt_load || op == Op::load_clflushopt || op == Op::load_store;
}

/// "load", "ntload", "store+clwb"...; throws InputError for any other name, and for an
/// operation whose instructions `isa` lacks.
[[nodiscard]] Op parse_op(const std::string& name, const Isa& isa);

enum class Fence : std::uint8_t { none, sfence, mfence, cpuid };

/// "sfence", "mfence" or "cpuid"; throws InputError for any other name.
[[nodiscard]] Fence parse_fence(const std::string& name);

}  // namespace nearfar::probe

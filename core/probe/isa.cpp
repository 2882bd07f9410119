#include "probe/isa.h"

#include <cpuid.h>

#include <array>
#include <string_view>

#include "base/error.h"

namespace nearfar::probe {
namespace {

struct Registers {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);  // all zero beyond the last leaf
  return r;
}

bool bit(std::uint32_t value, unsigned position) { return (value >> position & 1u) != 0; }

/// Which register states the operating system saves when it switches tasks.
std::uint64_t saved_states() {
  std::uint32_t low = 0;   // NOLINT(misc-const-correctness): the assembly writes both
  std::uint32_t high = 0;  // NOLINT(misc-const-correctness)
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

/// Bits as numbered in the Intel 64 manual, volume 2, CPUID; AMD numbers them alike.
Isa read_isa() {
  const Registers features = cpuid(1);
  const Registers extended = cpuid(7);
  const std::uint64_t saved = bit(features.c, 27) ? saved_states() : 0;
  const bool ymm = (saved & 0x6) == 0x6;
  const bool zmm = (saved & 0xe6) == 0xe6;
  Isa isa;
  isa.sse41 = bit(features.c, 19);
  isa.hypervisor = bit(features.c, 31);
  isa.avx2 = ymm && bit(extended.b, 5);
  isa.avx512f = zmm && bit(extended.b, 16);
  isa.clflushopt = bit(extended.b, 23);
  isa.clwb = bit(extended.b, 24);
  isa.rdtscp = bit(cpuid(0x80000001).d, 27);
  isa.invariant_tsc = bit(cpuid(0x80000007).d, 8);
  return isa;
}

struct Named {
  std::string_view name;
  Op op;
  bool Isa::* needs;  ///< nullptr: every x86-64 processor has it
  std::string_view instruction;
};

constexpr std::array<Named, 8> operations{{
    {"load", Op::load, nullptr, ""},
    {"ntload", Op::nt_load, &Isa::sse41, "movntdqa"},
    {"load+clflushopt", Op::load_clflushopt, &Isa::clflushopt, "clflushopt"},
    {"load+store", Op::load_store, nullptr, ""},
    {"store", Op::store, nullptr, ""},
    {"ntstore", Op::nt_store, nullptr, ""},
    {"store+clwb", Op::store_clwb, &Isa::clwb, "clwb"},
    {"store+clflushopt", Op::store_clflushopt, &Isa::clflushopt, "clflushopt"},
}};

}  // namespace

const Isa& Isa::host() {
  static const Isa isa = read_isa();
  return isa;
}

Width Isa::width() const {
  if (avx512f) return Width::avx512;
  return avx2 ? Width::avx2 : Width::sse2;
}

Op parse_op(const std::string& name, const Isa& isa) {
  std::string known;
  for (const Named& operation : operations) {
    if (operation.name == name) {
      if (operation.needs != nullptr && !(isa.*operation.needs)) {
        throw InputError("op: this processor has no " + std::string(operation.instruction) +
                         ", which " + name + " needs");
      }
      return operation.op;
    }
    if (!known.empty()) known += ", ";
    known += operation.name;
  }
  throw InputError("op: unknown '" + name + "', expected one of " + known);
}

Fence parse_fence(const std::string& name) {
  if (name == "sfence") return Fence::sfence;
  if (name == "mfence") return Fence::mfence;
  if (name == "cpuid") return Fence::cpuid;
  throw InputError("fence-kind: unknown '" + name + "', expected sfence, mfence or cpuid");
}

}  // namespace nearfar::probe

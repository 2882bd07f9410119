#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/cpu/block.h"

namespace nearfar::frontend::qemu {

/// Where a flush finds its line: base + index * scale + displacement.
struct AddressForm {
  sim::cpu::Register base = sim::cpu::no_register;
  sim::cpu::Register index = sim::cpu::no_register;
  std::uint8_t scale = 1;
  std::int64_t displacement = 0;  ///< with the next instruction's address where that is the base
  bool known = false;             ///< false if a segment's base is part of it
};

/// Which branches an instruction can become one operation with.
enum class Fusion : std::uint8_t {
  none,
  equal,  ///< those that ask for equality or signed order: inc, dec
  order,  ///< these, and those that ask for unsigned order: cmp, add, sub
  any,    ///< test, and
};
/// What a conditional branch asks for.
enum class Condition : std::uint8_t { none, equal, carry, other };

struct Decoded {
  sim::cpu::Instruction instruction;
  AddressForm address;    ///< of a flush or prefetch
  sim::cpu::Register base = sim::cpu::no_register;  ///< of the address of what it accesses
  bool loads_pointer_size = false;  ///< its data are 8 bytes
  bool reads = false;     ///< memory
  bool writes = false;    ///< memory
  bool repeats = false;   ///< a string instruction with a rep prefix
  bool counter = false;   ///< rdtsc or rdtscp, which tell host time
  bool marks = false;     ///< mkpt: the load behind it is marked for Pre-translation
  bool halts = false;     ///< waits for an interrupt: hlt, mwait
  bool changes_tables = false;  ///< changes the page tables, or voids what TLBs know of them
  bool evex = false;      ///< AVX-512's encoding, which QEMU does not have
  Fusion fusion = Fusion::none;
  Condition condition = Condition::none;
  std::uint8_t length = 0;  ///< in bytes; 0: unknown
  sim::cpu::BlockEnd end = sim::cpu::BlockEnd::next;  ///< of a block that ends with it
  std::uint64_t target = 0;                           ///< of a direct jump or call
};

/// The processor's mode, by which the same bytes mean other instructions.
enum class CodeMode : std::uint8_t { bits64, bits32, bits16 };

/// What the bytes of one instruction at `pc` mean; an unknown one is plain. QEMU gives what it
/// has read: of an instruction it does not know, perhaps the first bytes alone.
[[nodiscard]] Decoded decode(std::span<const std::uint8_t> bytes, std::uint64_t pc,
                             CodeMode mode = CodeMode::bits64);

}  // namespace nearfar::frontend::qemu

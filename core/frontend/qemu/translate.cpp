#include "frontend/qemu/translate.h"

#include <utility>
#include <vector>

#include "base/address.h"

namespace nearfar::frontend::qemu {
namespace {

using sim::cpu::Instruction;
using sim::cpu::InstructionKind;
using sim::cpu::names_a_line;
using sim::cpu::no_register;

/// Whether a processor makes one operation of a comparison and the branch behind it (Intel,
/// Optimization Reference Manual, "Macro-Fusion"; Fog, "Microarchitecture", chapter 9.5).
bool fuse(const Decoded& compare, const Decoded& branch) {
  switch (compare.fusion) {
    case Fusion::any:
      return branch.condition != Condition::none;
    case Fusion::order:
      return branch.condition == Condition::equal || branch.condition == Condition::carry;
    case Fusion::equal:
      return branch.condition == Condition::equal;
    case Fusion::none:
      break;
  }
  return false;
}

/// The comparison becomes both, on the branch's port, and of the branch nothing is left.
void fuse(Instruction& compare, Instruction& branch) {
  if (compare.kind == InstructionKind::plain) compare.kind = InstructionKind::branch;
  compare.jumps = true;
  branch.uops = 0;
  branch.sources.fill(no_register);
  branch.destinations.fill(no_register);
}

/// `marked`: the instruction before it says that it loads a pointer.
Told told_of(const Decoded& decoded, bool marked) {
  if (names_a_line(decoded.instruction.kind)) return Told::line;
  if (!decoded.reads && !decoded.writes) return Told::nothing;
  return marked ? Told::marked : Told::access;
}

}  // namespace

Translated translate(std::uint64_t pc, std::span<const Located> instructions) {
  Translated out;
  out.block.pc = pc;
  out.pointers = PointerLoads(instructions);
  std::vector<Instruction> made;
  bool has_lines = false;
  bool marks = false;
  for (const Located& one : instructions) {
    const Decoded& decoded = one.decoded;
    const InstructionKind kind = decoded.instruction.kind;
    // What ends a line of 64 bytes is not fused with what begins the next.
    const bool in_line = pc % line_bytes != 0;
    made.push_back(decoded.instruction);
    if (made.size() > 1 && in_line && fuse(instructions[made.size() - 2].decoded, decoded)) {
      fuse(made[made.size() - 2], made.back());
    }
    out.told.push_back(told_of(decoded, std::exchange(marks, decoded.marks)));
    has_lines |= names_a_line(kind);
    if (kind > InstructionKind::load_store) out.counted.push_back(kind);
    out.counters_read += decoded.counter ? 1 : 0;
    out.halts += decoded.halts ? 1 : 0;
    out.changes_tables |= decoded.changes_tables;
    out.ends_repeating = decoded.repeats;
    out.last_pc = pc;
    out.block.end = decoded.end;
    out.block.target = decoded.target;
    pc += one.size;
  }
  out.block.next = pc;
  for (const Instruction& one : made) out.block.instructions.push_back(one);
  if (has_lines) {
    for (const Located& one : instructions) out.addresses.push_back(one.decoded.address);
  }
  return out;
}

}  // namespace nearfar::frontend::qemu

#include "frontend/qemu/decode.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>

#include "frontend/guest/nearfar_requests.h"
#include "frontend/qemu/latency.h"

namespace nearfar::frontend::qemu {
namespace {

using sim::cpu::BlockEnd;
using sim::cpu::Instruction;
using sim::cpu::InstructionKind;
using sim::cpu::Register;
using namespace sim::cpu;

struct Parsed {
  ZydisDecodedInstruction head;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

  [[nodiscard]] std::span<const ZydisDecodedOperand> all() const {
    return std::span(operands).first(head.operand_count);
  }
};

Register register_of(ZydisRegister reg) {
  if (reg == ZYDIS_REGISTER_RFLAGS || reg == ZYDIS_REGISTER_EFLAGS) return flags_register;
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  const ZydisRegister known = whole == ZYDIS_REGISTER_NONE ? reg : whole;
  const auto id = static_cast<Register>(ZydisRegisterGetId(known) & 0x1F);
  switch (ZydisRegisterGetClass(known)) {
    case ZYDIS_REGCLASS_GPR64:
      return static_cast<Register>(first_general + (id & 15));
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
      return static_cast<Register>(first_vector + (id & 15));
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
      return other_register;
    default:
      return no_register;
  }
}

template <std::size_t size>
void add(std::array<Register, size>& to, Register reg) {
  for (Register& place : to) {
    if (place == reg) return;
    if (place == no_register) {
      place = reg;
      return;
    }
  }
}

bool hidden_stack_pointer(const ZydisDecodedOperand& operand) {
  return operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
         operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == ZYDIS_REGISTER_RSP;
}

void read_operand(const ZydisDecodedOperand& operand, Decoded& out) {
  Instruction& to = out.instruction;
  const bool reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && !hidden_stack_pointer(operand)) {
    const Register reg = register_of(operand.reg.value);
    // What is written on a condition keeps its value otherwise (cmov); flags that a count of zero
    // would leave are not waited for where the count is known.
    const bool keeps = (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0;
    if (reads || (keeps && reg != flags_register)) add(to.sources, reg);
    if (writes) add(to.destinations, reg);
  }
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
  const bool computes = operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN;
  for (const ZydisRegister part : {operand.mem.base, operand.mem.index}) {
    const Register reg = register_of(part);
    if (reg == no_register) continue;
    // A gather's index is a vector: one of the things that its loads' addresses wait for.
    if (computes) {
      add(to.sources, reg);
    } else {
      add(to.address_sources, reg);
    }
  }
  if (computes) return;
  out.base = register_of(operand.mem.base);
  out.loads_pointer_size |= reads && operand.size == 64;
  out.reads |= reads;
  out.writes |= writes;
}

bool is_register_pair(const Parsed& parsed, std::size_t a, std::size_t b) {
  return parsed.head.operand_count_visible > std::max(a, b) &&
         parsed.operands[a].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         parsed.operands[b].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/// Whether the instruction clears its destination, whatever was in it.
bool is_zero_idiom(const Parsed& parsed) {
  switch (parsed.head.mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
      return is_register_pair(parsed, 0, 1) &&
             parsed.operands[0].reg.value == parsed.operands[1].reg.value;
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
      return is_register_pair(parsed, 1, 2) &&
             parsed.operands[1].reg.value == parsed.operands[2].reg.value;
    default:
      return false;
  }
}

/// Whether renaming alone does it.
bool is_eliminated_move(const Parsed& parsed) {
  switch (parsed.head.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQU:
      return is_register_pair(parsed, 0, 1) && parsed.operands[0].size >= 32 &&
             ZydisRegisterGetClass(parsed.operands[1].reg.value) != ZYDIS_REGCLASS_SEGMENT;
    default:
      return false;
  }
}

InstructionKind memory_kind(const Decoded& decoded, InstructionKind otherwise) {
  if (decoded.reads && decoded.writes) return InstructionKind::load_store;
  if (decoded.reads) return InstructionKind::load;
  return decoded.writes ? InstructionKind::store : otherwise;
}

InstructionKind kind_of(const Parsed& parsed, const Decoded& decoded) {
  switch (parsed.head.mnemonic) {
    case ZYDIS_MNEMONIC_CLWB:
      return InstructionKind::flush;
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
      return InstructionKind::flush_invalidate;
    case ZYDIS_MNEMONIC_CLFLUSH:
      return InstructionKind::flush_ordered;
    case ZYDIS_MNEMONIC_SFENCE:
      return InstructionKind::store_fence;
    case ZYDIS_MNEMONIC_LFENCE:
      return InstructionKind::load_fence;
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_CPUID:
    case ZYDIS_MNEMONIC_SERIALIZE:
      return InstructionKind::full_fence;
    case ZYDIS_MNEMONIC_PAUSE:
      return InstructionKind::pause;
    case ZYDIS_MNEMONIC_SYSCALL:
      return InstructionKind::system_call;
    case ZYDIS_MNEMONIC_MOVNTDQA:
    case ZYDIS_MNEMONIC_VMOVNTDQA:
      return InstructionKind::nt_load;
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
      return InstructionKind::nt_store;
    case ZYDIS_MNEMONIC_PREFETCHT0:
    case ZYDIS_MNEMONIC_PREFETCHT1:
    case ZYDIS_MNEMONIC_PREFETCHT2:
    case ZYDIS_MNEMONIC_PREFETCHNTA:
    case ZYDIS_MNEMONIC_PREFETCHW:
      return InstructionKind::prefetch;
    case ZYDIS_MNEMONIC_NOP:
      return InstructionKind::plain;
    default:
      break;
  }
  const bool atomic = (parsed.head.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 ||
                      parsed.head.mnemonic == ZYDIS_MNEMONIC_XCHG;
  if (atomic && decoded.writes) return InstructionKind::locked;
  switch (parsed.head.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
      return memory_kind(decoded, InstructionKind::branch);
    default:
      return memory_kind(decoded, InstructionKind::plain);
  }
}

/// Whether a load's data are its result, with nothing computed from them.
bool only_loads(const Parsed& parsed) {
  switch (parsed.head.meta.category) {
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_POP:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_UNCOND_BR:
      return true;
    default:
      return false;
  }
}

AddressForm address_form(const Parsed& parsed, std::uint64_t pc) {
  for (const ZydisDecodedOperand& operand : parsed.all()) {
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    const auto& memory = operand.mem;
    AddressForm form{
        .base = register_of(memory.base),
        .index = register_of(memory.index),
        .scale = std::max<std::uint8_t>(memory.scale, 1),
        .displacement = memory.disp.has_displacement ? memory.disp.value : 0,
        .known = memory.segment != ZYDIS_REGISTER_FS && memory.segment != ZYDIS_REGISTER_GS};
    if (memory.base == ZYDIS_REGISTER_RIP) {
      form.displacement += static_cast<std::int64_t>(pc + parsed.head.length);
    }
    return form;
  }
  return {};
}

void set_end(const Parsed& parsed, std::uint64_t pc, Decoded& out) {
  const ZydisDecodedOperand& where = parsed.operands[0];
  const bool direct =
      where.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && where.imm.is_relative == ZYAN_TRUE;
  const auto target = [&] {
    std::uint64_t found = 0;
    static_cast<void>(ZydisCalcAbsoluteAddress(&parsed.head, &where, pc, &found));
    return found;
  };
  switch (parsed.head.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      out.end = BlockEnd::conditional;
      break;
    case ZYDIS_CATEGORY_UNCOND_BR:
      out.end = direct ? BlockEnd::jump : BlockEnd::indirect;
      break;
    case ZYDIS_CATEGORY_CALL:
      out.end = direct ? BlockEnd::call : BlockEnd::indirect_call;
      break;
    case ZYDIS_CATEGORY_RET:
      out.end = BlockEnd::back;
      break;
    default:
      // QEMU makes each step of a string instruction a block.
      if (out.repeats) out.end = BlockEnd::conditional;
      return;
  }
  if (direct) out.target = target();
}

void set_cost(const Parsed& parsed, Decoded& out) {
  const char* name = ZydisMnemonicGetString(parsed.head.mnemonic);
  const Cost cost = cost_of(name == nullptr ? "" : name, parsed.head.operand_width);
  out.instruction.latency = cost.latency;
  out.instruction.uops = cost.uops;
  // What changes memory in place takes one slot for the load with its operation, one for the
  // store; an atomic one about eight more than that for its lock (uops.info, lock add).
  if (out.instruction.kind == InstructionKind::load_store) out.instruction.uops = 2;
  if (out.instruction.kind == InstructionKind::locked) out.instruction.uops = 8;
  const bool moves = out.instruction.kind == InstructionKind::nt_load ||
                     (out.instruction.kind == InstructionKind::load && only_loads(parsed));
  if (moves || is_eliminated_move(parsed)) out.instruction.latency = 0;
  if (is_zero_idiom(parsed)) {
    out.instruction.latency = 0;
    out.instruction.sources.fill(no_register);
  }
}

/// What has an immediate and an operand in memory is never fused, nor what writes memory.
Fusion fusion_of(const Parsed& parsed, const Decoded& decoded) {
  bool immediate = false;
  for (const ZydisDecodedOperand& operand : parsed.all()) {
    immediate |= operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  }
  if (decoded.writes || (decoded.reads && immediate) || decoded.instruction.latency != 1) {
    return Fusion::none;
  }
  switch (parsed.head.mnemonic) {
    case ZYDIS_MNEMONIC_TEST:
    case ZYDIS_MNEMONIC_AND:
      return Fusion::any;
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      return Fusion::order;
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
      return Fusion::equal;
    default:
      return Fusion::none;
  }
}

Condition condition_of(const Parsed& parsed) {
  switch (parsed.head.mnemonic) {
    case ZYDIS_MNEMONIC_JZ:
    case ZYDIS_MNEMONIC_JNZ:
    case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_JNL:
    case ZYDIS_MNEMONIC_JLE:
    case ZYDIS_MNEMONIC_JNLE:
      return Condition::equal;
    case ZYDIS_MNEMONIC_JB:
    case ZYDIS_MNEMONIC_JNB:
    case ZYDIS_MNEMONIC_JBE:
    case ZYDIS_MNEMONIC_JNBE:
      return Condition::carry;
    case ZYDIS_MNEMONIC_JS:
    case ZYDIS_MNEMONIC_JNS:
    case ZYDIS_MNEMONIC_JP:
    case ZYDIS_MNEMONIC_JNP:
    case ZYDIS_MNEMONIC_JO:
    case ZYDIS_MNEMONIC_JNO:
      return Condition::other;
    default:
      return Condition::none;
  }
}

/// A nop with a displacement that no compiler pads with.
bool is_mkpt(const Parsed& parsed) {
  return parsed.head.mnemonic == ZYDIS_MNEMONIC_NOP &&
         std::ranges::any_of(parsed.all(), [](const ZydisDecodedOperand& operand) {
           return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                  operand.mem.disp.value == NEARFAR_MKPT;
         });
}

/// What only a kernel executes and the simulated machine has to know.
void set_privileged(const Parsed& parsed, Decoded& out) {
  switch (parsed.head.mnemonic) {
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_MWAIT:
      out.halts = true;
      break;
    case ZYDIS_MNEMONIC_MOV: {
      const ZydisDecodedOperand& to = parsed.operands[0];
      const bool table = to.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                         (to.reg.value == ZYDIS_REGISTER_CR0 ||
                          to.reg.value == ZYDIS_REGISTER_CR3 || to.reg.value == ZYDIS_REGISTER_CR4);
      if (!table) break;
      [[fallthrough]];
    }
    case ZYDIS_MNEMONIC_INVPCID:
      out.changes_tables = true;
      out.instruction.kind = InstructionKind::full_fence;  // it serialises
      break;
    default:
      break;
  }
}

const ZydisDecoder& decoder_of(CodeMode mode) {
  static const std::array<ZydisDecoder, 3> decoders = [] {
    std::array<ZydisDecoder, 3> made{};
    ZydisDecoderInit(&made[0], ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderInit(&made[1], ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32);
    ZydisDecoderInit(&made[2], ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16);
    return made;
  }();
  return decoders[static_cast<std::size_t>(mode)];
}

}  // namespace

Decoded decode(std::span<const std::uint8_t> bytes, std::uint64_t pc, CodeMode mode) {
  Decoded out;
  // In 64-bit code the byte 62 begins nothing else; prefixes before it are not allowed.
  out.evex = mode == CodeMode::bits64 && !bytes.empty() && bytes[0] == 0x62;
  Parsed parsed;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_of(mode), bytes.data(), bytes.size(),
                                           &parsed.head, parsed.operands.data()))) {
    return out;
  }
  if (parsed.head.mnemonic != ZYDIS_MNEMONIC_NOP) {
    for (const ZydisDecodedOperand& operand : parsed.all()) read_operand(operand, out);
  }
  out.instruction.kind = kind_of(parsed, out);
  set_privileged(parsed, out);
  if (names_a_line(out.instruction.kind)) out.address = address_form(parsed, pc);
  set_cost(parsed, out);
  out.repeats = parsed.head.meta.category == ZYDIS_CATEGORY_STRINGOP &&
                (parsed.head.attributes &
                 (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
  set_end(parsed, pc, out);
  out.fusion = fusion_of(parsed, out);
  out.condition = condition_of(parsed);
  out.length = parsed.head.length;
  out.marks = is_mkpt(parsed);
  out.counter =
      parsed.head.mnemonic == ZYDIS_MNEMONIC_RDTSC || parsed.head.mnemonic == ZYDIS_MNEMONIC_RDTSCP;
  return out;
}

}  // namespace nearfar::frontend::qemu

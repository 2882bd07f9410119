#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "sim/cpu/ports.h"

namespace nearfar::sim::cpu {

/// What an instruction asks of a core, as far as the memory system can tell.
enum class InstructionKind : std::uint8_t {
  plain,             ///< touches no memory
  branch,            ///< a jump that touches no memory; a call is a store, a return a load
  load,              ///< reads memory, and may compute with it
  store,             ///< writes memory
  load_store,        ///< reads and writes memory: add [m], r; movs
  nt_load,           ///< movntdqa
  nt_store,          ///< movnti, movntps, movntdq, maskmovdqu
  flush,             ///< clwb: the line stays in the caches
  flush_invalidate,  ///< clflushopt
  flush_ordered,     ///< clflush: ordered with stores and other clflush
  prefetch,          ///< a hint: retires without waiting for its line
  store_fence,       ///< sfence
  load_fence,        ///< lfence
  full_fence,        ///< mfence, and instructions that serialise (cpuid)
  locked,            ///< an atomic load_store: also a full fence
  system_call,
  pause,
};
inline constexpr std::size_t instruction_kinds = 17;

/// Whether it names a line of memory that it does not access.
[[nodiscard]] constexpr bool names_a_line(InstructionKind kind) {
  return kind == InstructionKind::flush || kind == InstructionKind::flush_invalidate ||
         kind == InstructionKind::flush_ordered || kind == InstructionKind::prefetch;
}

/// Whether nothing behind it begins before it is over.
[[nodiscard]] constexpr bool holds_back(InstructionKind kind) {
  return kind >= InstructionKind::store_fence;
}

/// Registers that carry dependences between instructions.
using Register = std::uint8_t;
inline constexpr Register first_general = 0;   ///< 0 to 15: rax to r15, as encoded
inline constexpr Register first_vector = 16;   ///< 16 to 31: xmm0 to xmm15 and their upper parts
inline constexpr Register flags_register = 32;
inline constexpr Register other_register = 33;  ///< x87 and MMX, as one
inline constexpr Register register_count = 34;
inline constexpr Register no_register = 255;

/// One instruction, decoded once. Unused register places hold no_register and come last.
///
/// The stack pointer that push, pop, call and ret move by themselves is no destination: cores
/// follow it in the front end. A register that is set to zero by an idiom has no sources.
struct Instruction {
  InstructionKind kind = InstructionKind::plain;
  /// Cycles from its operands (a load's: from its data) to its result; 0: renamed away.
  std::uint8_t latency = 1;
  /// Issue slots it takes; 0: it is part of the one before it, and nothing by itself.
  std::uint8_t uops = 1;
  bool jumps = false;  ///< the branch behind it is part of it
  /// What the result waits for, without what the address waits for.
  std::array<Register, 4> sources{no_register, no_register, no_register, no_register};
  std::array<Register, 2> address_sources{no_register, no_register};
  std::array<Register, 3> destinations{no_register, no_register, no_register};
};

/// What a core needs of an instruction again and again, found once, when it joins its block.
struct Digest {
  /// How it gets through a core if nothing holds it up.
  enum class Way : std::uint8_t {
    general,    ///< by the rules for all
    compute,    ///< one slot, no memory, two sources and two destinations at most
    compute_more,  ///< one slot, no memory
    load,       ///< one slot, one load
    store,      ///< one slot, one store
    nothing,
  };
  /// In place of no_register among the destinations: no instruction reads it.
  static constexpr Register nowhere = 254;

  Way way = Way::general;
  Ports::Mask ports = 0;  ///< that may do it; none: renamed away
  std::uint8_t latency = 0;
  std::array<Register, 4> sources{};
  std::array<Register, 2> address_sources{};
  std::array<Register, 3> destinations{};

  [[nodiscard]] static Digest of(const Instruction& instruction);
};

/// The instructions of a block. They are added, and never changed.
class Instructions {
 public:
  Instructions() = default;
  Instructions(std::initializer_list<Instruction> all) {
    for (const Instruction& one : all) push_back(one);
  }

  void push_back(const Instruction& instruction) {
    all_.push_back(instruction);
    steps_.push_back(Digest::of(instruction));
    holds_back_ |= cpu::holds_back(instruction.kind);
  }

  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] const Instruction& operator[](std::size_t index) const { return all_[index]; }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }
  [[nodiscard]] std::span<const Digest> steps() const { return steps_; }
  /// Whether any of them does.
  [[nodiscard]] bool holds_back() const { return holds_back_; }

 private:
  std::vector<Instruction> all_;
  std::vector<Digest> steps_;
  bool holds_back_ = false;
};

/// Where a program can go on behind a block.
enum class BlockEnd : std::uint8_t {
  unknown,        ///< anywhere
  next,  ///< at the next instruction in memory: the block ended for no reason of its own
  jump,  ///< at the target
  call,  ///< at the target, and later at the next instruction
  conditional,  ///< at the target or the next instruction
  indirect,  ///< anywhere
  indirect_call,  ///< anywhere, and later at the next instruction
  back,  ///< where a call said
};

/// Instructions that are executed one after the other, from the first to the last.
struct Block {
  std::uint64_t pc = 0;  ///< of the first
  std::uint64_t next = 0;  ///< of what comes behind the last in memory
  std::uint64_t target = 0;  ///< of the last, if its bytes tell
  BlockEnd end = BlockEnd::unknown;
  Instructions instructions;
};

/// One access that an execution of a block makes, at a virtual address. What an instruction does
/// to adjacent bytes in one direction is one access, whatever lines it crosses. Accesses of a
/// block come in the order of their instructions, an instruction's loads before its stores.
struct Access {
  std::uint64_t address = 0;
  std::uint16_t size = 0;  ///< bytes; 0 for a flush, a prefetch: the line that holds `address`
  std::uint16_t instruction = 0;  ///< its index in the block
  bool store = false;
  /// No access, but what the load before it has loaded: `address` is where that leads. It is marked
  /// for Pre-translation.
  bool pointer = false;
};

}  // namespace nearfar::sim::cpu

#include <array>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core_fixture.h"
#include "frontend/qemu/translate.h"

/// Loops of machine code, decoded as a program's are, whose cycles an iteration follow by hand from
/// published latencies and ports of Skylake (Fog, "Instruction tables", Skylake-X, and
/// "Microarchitecture", chapters 9.5 and 11; the same figures in Abel and Reineke, "uops.info",
/// ASPLOS 2019) and the core's own parameters: 4 issue slots a cycle (cpu.core.width), L1 and
/// forwarding in 5 cycles (cpu.l1.latency, cpu.core.forward).

// A loop's bytes are what the assembler makes of its text.
#define LOOP(name, text)                                                            \
  extern "C" const std::uint8_t nearfar_loop_##name[], nearfar_loop_##name##_end[]; \
  asm(".pushsection .rodata\n.globl nearfar_loop_" #name ", nearfar_loop_" #name    \
      "_end\n"                                                                      \
      ".intel_syntax noprefix\nnearfar_loop_" #name ":\n1:\n" text                  \
      "\n.att_syntax prefix\nnearfar_loop_" #name "_end:\n.popsection")
#define ENDS "\ndec rcx\njnz 1b"
#define TWICE(text) text "\n" text "\n"
#define FOUR_TIMES(text) TWICE(text) TWICE(text)

LOOP(dec_jnz, "dec rcx\njnz 1b");
LOOP(add_cmp_jne, "add rax, 1\ncmp rax, rbx\njne 1b");
LOOP(add_chain, TWICE(FOUR_TIMES("add rax, rbx")) ENDS);
LOOP(add_7,
     "add r8, rbx\nadd r9, rbx\nadd r10, rbx\nadd r11, rbx\nadd r12, rbx\nadd r13, rbx\n"
     "add r14, rbx" ENDS);
LOOP(add_6_test,
     FOUR_TIMES("add r8, rbx\nadd r9, rbx\nadd r10, rbx") "add r11, rbx\ntest rax, rax\njs 1b");
LOOP(add_6_inc_ja,
     "add r8, rbx\nadd r9, rbx\nadd r10, rbx\nadd r11, rbx\nadd r12, rbx\nadd r13, rbx\n"
     "inc rcx\nja 1b");
LOOP(cmp_memory, "add r8, rbx\nadd r9, rbx\nadd r10, rbx\ncmp rax, [rsi]\njne 1b");
LOOP(cmp_memory_immediate, "add r8, rbx\nadd r9, rbx\ncmp qword ptr [rsi], 7\njne 1b");
LOOP(imul_chain, FOUR_TIMES("imul rax, rbx") ENDS);
LOOP(imul_6,
     "imul r8, rbx\nimul r9, rbx\nimul r10, rbx\nimul r11, rbx\nimul r12, rbx\n"
     "imul r13, rbx" ENDS);
LOOP(imul_add_chain, FOUR_TIMES("imul rax, rbx\nadd rax, rbx") ENDS);
LOOP(popcnt_chain, FOUR_TIMES("popcnt rax, rax") ENDS);
LOOP(lea_chain, FOUR_TIMES("lea rax, [rax + 8]") ENDS);
LOOP(cmov_chain, FOUR_TIMES("cmovz rax, rbx") ENDS);
LOOP(mov_15, TWICE("mov rax, rbx\nmov r8, rbx\nmov r9, rbx\nmov r10, rbx\nmov r11, rbx\n"
                   "mov r12, rbx\nmov r13, rbx") "mov r14, rbx" ENDS);
LOOP(zero_idiom,
     TWICE("xor eax, eax\nadd rax, rbx") "xor eax, eax\nimul rax, rbx\nadd rax, rbx" ENDS);
LOOP(addsd_chain, FOUR_TIMES("addsd xmm0, xmm1") ENDS);
LOOP(addsd_8,
     "addsd xmm0, xmm15\naddsd xmm1, xmm15\naddsd xmm2, xmm15\naddsd xmm3, xmm15\n"
     "addsd xmm4, xmm15\naddsd xmm5, xmm15\naddsd xmm6, xmm15\naddsd xmm7, xmm15" ENDS);
LOOP(mulps_12,
     "mulps xmm0, xmm15\nmulps xmm1, xmm15\nmulps xmm2, xmm15\nmulps xmm3, xmm15\n"
     "mulps xmm4, xmm15\nmulps xmm5, xmm15\nmulps xmm6, xmm15\nmulps xmm7, xmm15\n"
     "mulps xmm8, xmm15\nmulps xmm9, xmm15\nmulps xmm10, xmm15\nmulps xmm11, xmm15" ENDS);
LOOP(paddd_12,
     "paddd xmm0, xmm15\npaddd xmm1, xmm15\npaddd xmm2, xmm15\npaddd xmm3, xmm15\n"
     "paddd xmm4, xmm15\npaddd xmm5, xmm15\npaddd xmm6, xmm15\npaddd xmm7, xmm15\n"
     "paddd xmm8, xmm15\npaddd xmm9, xmm15\npaddd xmm10, xmm15\npaddd xmm11, xmm15" ENDS);
LOOP(imul_4_paddd_2,
     "imul r8, rbx\nimul r9, rbx\nimul r10, rbx\nimul r11, rbx\npaddd xmm0, xmm8\n"
     "paddd xmm1, xmm9" ENDS);
LOOP(pointer_chase, FOUR_TIMES("mov rax, [rax]") ENDS);
LOOP(load_8,
     "mov r8, [rsi]\nmov r9, [rsi]\nmov r10, [rsi]\nmov r11, [rsi]\nmov r12, [rsi]\n"
     "mov r13, [rsi]\nmov r14, [rsi]\nmov r15, [rsi]" ENDS);
LOOP(store_8, TWICE(FOUR_TIMES("mov [rdi], rax")) ENDS);
LOOP(copy_4, FOUR_TIMES("mov rax, [rsi]\nmov [rdi], rax") ENDS);
LOOP(add_memory_4, FOUR_TIMES("add rax, [rsi]") ENDS);
LOOP(fma_memory_4, FOUR_TIMES("vfmadd231pd ymm0, ymm1, [rsi]") ENDS);
LOOP(counter, "inc qword ptr [rdi]" ENDS);
LOOP(counters_4, FOUR_TIMES("inc qword ptr [rdi]") ENDS);

#define CODE(name) std::span(nearfar_loop_##name, nearfar_loop_##name##_end)

namespace nearfar::sim::cpu {
namespace {

using testing::alu;
using testing::Code;
using testing::CoreMachine;
using testing::instruction;
using Kind = InstructionKind;

constexpr int flags = 32;

Instruction jump() { return instruction(Kind::branch, 1, {.sources = {flags}}); }

/// A loop, the cycles an iteration takes, and what they follow from.
struct Loop {
  const char* name;
  std::span<const std::uint8_t> bytes;
  double cycles;
  const char* because;
  std::vector<std::uint64_t> addresses{};  ///< of its accesses, in order
  std::uint16_t size = 8;
};

std::vector<Loop> compute_loops() {
  return {
      {"dec, jnz", CODE(dec_jnz), 1, "fused; port 6 takes one taken branch a cycle"},
      {"add, cmp, jne", CODE(add_cmp_jne), 1, "cmp and jne are one: a chain of additions"},
      {"8 add in a chain", CODE(add_chain), 8, "ADD r,r: latency 1"},
      {"7 add", CODE(add_7), 2, "8 fused slots, 4 a cycle"},
      {"13 add, test, js", CODE(add_6_test), 4, "12 in chains of 4; test is fused with any branch"},
      {"6 add, inc, ja", CODE(add_6_inc_ja), 2, "inc is not fused with ja: 8 slots"},
      {"3 add, cmp r,[m], jne", CODE(cmp_memory), 1, "4 slots: the load, too, is fused", {0}},
      {"2 add, cmp [m],i, jne", CODE(cmp_memory_immediate), 1, "not fused: 4 slots", {0}},
      {"4 imul in a chain", CODE(imul_chain), 12, "IMUL r,r: latency 3"},
      {"6 imul", CODE(imul_6), 6, "IMUL r,r: p1 alone"},
      {"4 times imul, add in a chain", CODE(imul_add_chain), 16, "latencies 3 and 1"},
      {"4 popcnt in a chain", CODE(popcnt_chain), 12, "POPCNT: latency 3"},
      {"4 lea in a chain", CODE(lea_chain), 4, "LEA with two parts: latency 1"},
      {"4 cmovz in a chain", CODE(cmov_chain), 4, "CMOVZ: latency 1"},
      {"15 mov r,r", CODE(mov_15), 4, "eliminated at rename: 16 slots, 4 a cycle"},
      {"3 xor r,r in a chain", CODE(zero_idiom), 2, "zero idioms end chains: 8 slots"},
      {"4 addsd in a chain", CODE(addsd_chain), 16, "ADDSD: latency 4"},
      {"8 addsd, each a chain", CODE(addsd_8), 4, "latency 4 and p01 give the same"},
      {"12 mulps", CODE(mulps_12), 6, "MULPS: p01"},
      {"12 paddd", CODE(paddd_12), 4, "PADDD: p015"},
      {"4 imul, 2 paddd", CODE(imul_4_paddd_2), 4, "p1 for IMUL; PADDD finds p5 and p0"},
  };
}

std::vector<Loop> memory_loops() {
  return {
      {"4 mov rax,[rax]", CODE(pointer_chase), 20, "a load from L1: 5 cycles", {0, 8, 16, 24}},
      {"8 mov r,[m]", CODE(load_8), 4, "p23", {0, 64, 128, 192, 256, 320, 384, 448}},
      {"8 mov [m],r",
       CODE(store_8),
       8,
       "p4, and one commits a cycle",
       {0, 8, 16, 24, 32, 40, 48, 56}},
      {"4 mov r,[m] and mov [m],r",
       CODE(copy_4),
       4,
       "the stores, which loads do not hold up",
       {0, 2048, 8, 2056, 16, 2064, 24, 2072}},
      {"4 add rax,[m]", CODE(add_memory_4), 4, "only the additions are a chain", {0, 8, 16, 24}},
      {"4 vfmadd ymm0,[m]", CODE(fma_memory_4), 16, "VFMADD231PD: latency 4", {0, 32, 64, 96}, 32},
      {"inc [m]", CODE(counter), 7, "forwarding 5, addition 1, store 1", {256, 256}},
      {"inc of 4 counters",
       CODE(counters_4),
       7,
       "four such chains beside each other",
       {256, 256, 320, 320, 384, 384, 448, 448}},
  };
}

/// As the front end makes it of what QEMU translates.
Code code_of(const Loop& loop) {
  constexpr std::uint64_t pc = 0x401000;
  std::vector<frontend::qemu::Located> decoded;
  std::size_t at = 0;
  while (at < loop.bytes.size()) {
    const auto one = frontend::qemu::decode(loop.bytes.subspan(at), pc + at);
    if (one.length == 0) throw std::logic_error("an instruction that is not known");
    decoded.push_back({one, one.length});
    at += one.length;
  }
  Code code;
  code.block = frontend::qemu::translate(pc, decoded).block;
  EXPECT_EQ(code.block.target, pc) << loop.name;
  std::size_t next = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const auto access = [&](bool store) {
      code.accesses.push_back({.address = loop.addresses.at(next++),
                               .size = loop.size,
                               .instruction = static_cast<std::uint16_t>(i),
                               .store = store});
    };
    if (decoded[i].decoded.reads) access(false);
    if (decoded[i].decoded.writes) access(true);
  }
  EXPECT_EQ(next, loop.addresses.size()) << loop.name;
  return code;
}

TEST(MicroLoops, TakeTheCyclesThatFollowFromLatenciesAndPorts) {
  std::vector<Loop> loops = compute_loops();
  for (Loop& loop : memory_loops()) loops.push_back(std::move(loop));
  double worst = 0;
  const char* of = "";
  for (const Loop& loop : loops) {
    CoreMachine machine;
    const double cycles = machine.cycles_each(code_of(loop), 1000);
    const double error = std::abs(cycles / loop.cycles - 1);
    EXPECT_LE(error, 0.05) << loop.name << ": " << cycles << " cycles, expected " << loop.cycles
                           << " (" << loop.because << ")";
    if (error < worst) continue;
    worst = error;
    of = loop.name;
  }
  std::cout << loops.size() << " loops; the worst is " << 100 * worst << " % off: " << of << '\n';
}

TEST(MicroLoops, GoTheGeneralWayInTheSameTime) {
  std::vector<Loop> loops = compute_loops();
  for (Loop& loop : memory_loops()) loops.push_back(std::move(loop));
  for (const Loop& loop : loops) {
    const Code code = code_of(loop);
    Tick times[2];
    std::array<Fine, causes> stacks[2];
    for (const bool short_way : {false, true}) {
      CoreMachine machine;
      machine.core.short_way = short_way;
      machine.cores().add();
      machine.repeat(code, 1000);
      times[short_way] = machine.finish();
      stacks[short_way] = machine.counts().stack;
    }
    EXPECT_EQ(times[0], times[1]) << loop.name;
    EXPECT_EQ(stacks[0], stacks[1]) << loop.name;
  }
}

TEST(Branches, CostThePenaltyWhenTheirTargetCannotBeGuessed) {
  // A coin decides between two blocks of equal cost: half the guesses are wrong.
  CoreMachine machine;
  machine.cores().add();
  Code either[2];
  for (int i = 0; i < 2; ++i) {
    either[i].block.pc = 0x1000 + 0x100 * static_cast<std::uint64_t>(i);
    either[i].add(alu({})).add(alu({})).add(alu({})).add(jump());
  }
  Rng coin(7);
  const auto play = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const Code& code = either[coin.below(2)];
      machine.cores().feed(0, code.block, code.accesses);
    }
    return machine.finish();
  };
  const Tick begin = play(1000);
  const std::uint64_t wrong = machine.counts().mispredicted;
  const double each = static_cast<double>((play(20'000) - begin).ps()) / 20'000;
  const double rate = static_cast<double>(machine.counts().mispredicted - wrong) / 20'000;
  EXPECT_NEAR(rate, 0.5, 0.03);
  // A cycle a block, and after a wrong guess the branch's own cycle and the penalty.
  EXPECT_NEAR(each, 500 + rate * (8000 + 500), 0.05 * each);
}

}  // namespace
}  // namespace nearfar::sim::cpu

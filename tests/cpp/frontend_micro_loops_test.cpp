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

// The bytes that the assembler makes of a text, which goes back to its beginning with `1b`.
#define CODE(text)                                                                          \
  [] {                                                                                      \
    const std::uint8_t* begin = nullptr;                                                    \
    const std::uint8_t* end = nullptr;                                                      \
    asm(".pushsection .rodata\n.intel_syntax noprefix\n771:\n1:\n" text                     \
        "\n.att_syntax prefix\n772:\n.popsection\nlea 771b(%%rip), %0\nlea 772b(%%rip), %1" \
        : "=r"(begin), "=r"(end));                                                          \
    return std::span(begin, end);                                                           \
  }()
#define ENDS "\ndec rcx\njnz 1b"
#define TWICE(text) text "\n" text "\n"
#define FOUR_TIMES(text) TWICE(text) TWICE(text)

namespace nearfar::sim::cpu {
namespace test_file {

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
      {"dec, jnz", CODE("dec rcx\njnz 1b"), 1, "fused; port 6 takes one taken branch a cycle"},
      {"add, cmp, jne", CODE("add rax, 1\ncmp rax, rbx\njne 1b"), 1,
       "cmp and jne are one: a chain of additions"},
      {"8 add in a chain", CODE(TWICE(FOUR_TIMES("add rax, rbx")) ENDS), 8, "ADD r,r: latency 1"},
      {"7 add",
       CODE("add r8, rbx\nadd r9, rbx\nadd r10, rbx\nadd r11, rbx\nadd r12, rbx\nadd r13, rbx\n"
            "add r14, rbx" ENDS),
       2, "8 fused slots, 4 a cycle"},
      {"13 add, test, js",
       CODE(FOUR_TIMES(
           "add r8, rbx\nadd r9, rbx\nadd r10, rbx") "add r11, rbx\ntest rax, rax\njs 1b"),
       4, "12 in chains of 4; test is fused with any branch"},
      {"6 add, inc, ja",
       CODE("add r8, rbx\nadd r9, rbx\nadd r10, rbx\nadd r11, rbx\nadd r12, rbx\nadd r13, rbx\n"
            "inc rcx\nja 1b"),
       2, "inc is not fused with ja: 8 slots"},
      {"3 add, cmp r,[m], jne",
       CODE("add r8, rbx\nadd r9, rbx\nadd r10, rbx\ncmp rax, [rsi]\njne 1b"),
       1,
       "4 slots: the load, too, is fused",
       {0}},
      {"2 add, cmp [m],i, jne",
       CODE("add r8, rbx\nadd r9, rbx\ncmp qword ptr [rsi], 7\njne 1b"),
       1,
       "not fused: 4 slots",
       {0}},
      {"4 imul in a chain", CODE(FOUR_TIMES("imul rax, rbx") ENDS), 12, "IMUL r,r: latency 3"},
      {"6 imul",
       CODE("imul r8, rbx\nimul r9, rbx\nimul r10, rbx\nimul r11, rbx\nimul r12, rbx\n"
            "imul r13, rbx" ENDS),
       6, "IMUL r,r: p1 alone"},
      {"4 times imul, add in a chain", CODE(FOUR_TIMES("imul rax, rbx\nadd rax, rbx") ENDS), 16,
       "latencies 3 and 1"},
      {"4 popcnt in a chain", CODE(FOUR_TIMES("popcnt rax, rax") ENDS), 12, "POPCNT: latency 3"},
      {"4 lea in a chain", CODE(FOUR_TIMES("lea rax, [rax + 8]") ENDS), 4,
       "LEA with two parts: latency 1"},
      {"4 cmovz in a chain", CODE(FOUR_TIMES("cmovz rax, rbx") ENDS), 4, "CMOVZ: latency 1"},
      {"15 mov r,r",
       CODE(TWICE("mov rax, rbx\nmov r8, rbx\nmov r9, rbx\nmov r10, rbx\nmov r11, rbx\n"
                  "mov r12, rbx\nmov r13, rbx") "mov r14, rbx" ENDS),
       4, "eliminated at rename: 16 slots, 4 a cycle"},
      {"3 xor r,r in a chain",
       CODE(TWICE("xor eax, eax\nadd rax, rbx") "xor eax, eax\nimul rax, rbx\nadd rax, rbx" ENDS),
       2, "zero idioms end chains: 8 slots"},
      {"4 addsd in a chain", CODE(FOUR_TIMES("addsd xmm0, xmm1") ENDS), 16, "ADDSD: latency 4"},
      {"8 addsd, each a chain",
       CODE("addsd xmm0, xmm15\naddsd xmm1, xmm15\naddsd xmm2, xmm15\naddsd xmm3, xmm15\n"
            "addsd xmm4, xmm15\naddsd xmm5, xmm15\naddsd xmm6, xmm15\naddsd xmm7, xmm15" ENDS),
       4, "latency 4 and p01 give the same"},
      {"12 mulps",
       CODE("mulps xmm0, xmm15\nmulps xmm1, xmm15\nmulps xmm2, xmm15\nmulps xmm3, xmm15\n"
            "mulps xmm4, xmm15\nmulps xmm5, xmm15\nmulps xmm6, xmm15\nmulps xmm7, xmm15\n"
            "mulps xmm8, xmm15\nmulps xmm9, xmm15\nmulps xmm10, xmm15\nmulps xmm11, xmm15" ENDS),
       6, "MULPS: p01"},
      {"12 paddd",
       CODE("paddd xmm0, xmm15\npaddd xmm1, xmm15\npaddd xmm2, xmm15\npaddd xmm3, xmm15\n"
            "paddd xmm4, xmm15\npaddd xmm5, xmm15\npaddd xmm6, xmm15\npaddd xmm7, xmm15\n"
            "paddd xmm8, xmm15\npaddd xmm9, xmm15\npaddd xmm10, xmm15\npaddd xmm11, xmm15" ENDS),
       4, "PADDD: p015"},
      {"4 imul, 2 paddd",
       CODE("imul r8, rbx\nimul r9, rbx\nimul r10, rbx\nimul r11, rbx\npaddd xmm0, xmm8\n"
            "paddd xmm1, xmm9" ENDS),
       4, "p1 for IMUL; PADDD finds p5 and p0"},
  };
}

std::vector<Loop> memory_loops() {
  return {
      {"4 mov rax,[rax]",
       CODE(FOUR_TIMES("mov rax, [rax]") ENDS),
       20,
       "a load from L1: 5 cycles",
       {0, 8, 16, 24}},
      {"8 mov r,[m]",
       CODE("mov r8, [rsi]\nmov r9, [rsi]\nmov r10, [rsi]\nmov r11, [rsi]\nmov r12, [rsi]\n"
            "mov r13, [rsi]\nmov r14, [rsi]\nmov r15, [rsi]" ENDS),
       4,
       "p23",
       {0, 64, 128, 192, 256, 320, 384, 448}},
      {"8 mov [m],r",
       CODE(TWICE(FOUR_TIMES("mov [rdi], rax")) ENDS),
       8,
       "p4, and one commits a cycle",
       {0, 8, 16, 24, 32, 40, 48, 56}},
      {"4 mov r,[m] and mov [m],r",
       CODE(FOUR_TIMES("mov rax, [rsi]\nmov [rdi], rax") ENDS),
       4,
       "the stores, which loads do not hold up",
       {0, 2048, 8, 2056, 16, 2064, 24, 2072}},
      {"4 add rax,[m]",
       CODE(FOUR_TIMES("add rax, [rsi]") ENDS),
       4,
       "only the additions are a chain",
       {0, 8, 16, 24}},
      {"4 vfmadd ymm0,[m]",
       CODE(FOUR_TIMES("vfmadd231pd ymm0, ymm1, [rsi]") ENDS),
       16,
       "VFMADD231PD: latency 4",
       {0, 32, 64, 96},
       32},
      {"inc [m]",
       CODE("inc qword ptr [rdi]" ENDS),
       7,
       "forwarding 5, addition 1, store 1",
       {256, 256}},
      {"inc of 4 counters",
       CODE(FOUR_TIMES("inc qword ptr [rdi]") ENDS),
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

TEST(MicroLoops, MicroLoopsTakeTheCyclesThatFollowFromLatenciesAndPorts) {
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

TEST(MicroLoops, MicroLoopsGoTheGeneralWayInTheSameTime) {
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

TEST(Branches, BranchesCostThePenaltyWhenTheirTargetCannotBeGuessed) {
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

}  // namespace test_file
}  // namespace nearfar::sim::cpu

#include <cmath>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core_fixture.h"

/// Loops whose cycles an iteration follow by hand from published latencies and ports of Skylake
/// (Fog, "Instruction tables", Skylake-X, and "Microarchitecture", chapter 11; the same figures in
/// Abel and Reineke, "uops.info", ASPLOS 2019) and the core's own parameters: 4 issue slots a cycle
/// (cpu.core.width), L1 and forwarding in 5 cycles (cpu.l1.latency, cpu.core.forward).
namespace nearfar::sim::cpu {
namespace {

using testing::alu;
using testing::Code;
using testing::CoreMachine;
using testing::instruction;
using testing::mov_load;
using testing::mov_store;
using testing::Operands;
using Kind = InstructionKind;

constexpr int rax = 0, rbx = 3, rsi = 6, rdi = 7, r8 = 8, xmm0 = 16, flags = 32;

Instruction jump() { return instruction(Kind::branch, 1, {.sources = {flags}}); }
/// dec and jnz, fused into one operation that port 6 takes.
Instruction fused_dec_jump(int counter) {
  return instruction(Kind::branch, 1, {.sources = {counter}, .destinations = {counter, flags}});
}
Instruction add(int to, int from) {
  return alu({.sources = {to, from}, .destinations = {to, flags}});
}
Instruction vector(std::uint8_t latency, int to, int from) {
  return alu({.sources = {to, from}, .destinations = {to}}, latency);
}

Code repeated(const Instruction& one, int times) {
  Code code;
  for (int i = 0; i < times; ++i) code.add(one);
  return code;
}

/// `count` chains that do not depend on each other.
Code chains(int count, std::uint8_t latency, bool is_vector) {
  Code code;
  for (int i = 0; i < count; ++i) {
    const int number = (is_vector ? xmm0 : r8) + i;
    code.add(alu({.sources = {number}, .destinations = {number}}, latency));
  }
  return code;
}

/// A loop, the cycles an iteration takes, and what they follow from.
struct Loop {
  const char* name;
  Code code;
  double cycles;
  const char* because;
};

std::vector<Loop> compute_loops() {
  Code mixed = chains(6, 1, false);
  mixed.add(add(rsi, rbx)).add(fused_dec_jump(rax));
  Code multiply_add;
  for (int i = 0; i < 4; ++i) {
    multiply_add.add(alu({.sources = {rax}, .destinations = {rax}}, 3)).add(add(rax, rbx));
  }
  Code shared_port = chains(4, 3, false);
  for (int i = 0; i < 2; ++i) shared_port.add(vector(1, xmm0 + i, xmm0 + 8 + i));
  const Instruction imul = alu({.sources = {rax}, .destinations = {rax}}, 3);
  const Instruction move = alu({.sources = {rax}, .destinations = {rbx}}, 0);
  return {
      {"dec, jnz", Code{}.add(fused_dec_jump(rax)), 1, "port 6 takes one taken branch a cycle"},
      {"8 add in a chain", repeated(add(rax, rbx), 8), 8, "ADD r,r: latency 1"},
      {"8 add", chains(8, 1, false), 2, "ADD r,r: p0156, and 4 slots a cycle"},
      {"4 imul in a chain", repeated(imul, 4), 12, "IMUL r,r: latency 3"},
      {"6 imul", chains(6, 3, false), 6, "IMUL r,r: p1 alone"},
      {"4 addsd in a chain", repeated(vector(4, xmm0, xmm0 + 1), 4), 16, "ADDSD: latency 4"},
      {"8 addsd, each a chain", chains(8, 4, true), 4, "latency 4 and p01 give the same"},
      {"12 mulps", chains(12, 4, true), 6, "MULPS: p01"},
      {"12 paddd", chains(12, 1, true), 4, "PADDD: p015"},
      {"16 mov r,r", repeated(move, 16), 4, "eliminated at rename: 4 slots a cycle"},
      {"7 add, dec, jnz", mixed, 2, "8 fused slots, 4 a cycle"},
      {"4 times imul, add in a chain", multiply_add, 16, "latencies 3 and 1"},
      {"4 imul, 2 paddd", shared_port, 4, "p1 for IMUL; PADDD finds p5 and p0"},
  };
}

Code four_loads(const Instruction& instruction, std::uint16_t size) {
  Code code;
  for (std::uint64_t i = 0; i < 4; ++i) code.add(instruction).access(i * size, false, size);
  return code;
}

std::vector<Loop> memory_loops() {
  Code chase = four_loads(mov_load({.destinations = {rax}, .address = {rax}}), 8);
  Code loads;
  for (int i = 0; i < 8; ++i) {
    loads.add(mov_load({.destinations = {r8 + i % 8}, .address = {rsi}}))
        .access(std::uint64_t(i) * 64, false);
  }
  Code stores;
  for (int i = 0; i < 8; ++i) {
    stores.add(mov_store({.sources = {rax}, .address = {rdi}})).access(std::uint64_t(i) * 8, true);
  }
  Code copy;
  for (int i = 0; i < 4; ++i) {
    copy.add(mov_load({.destinations = {rax}, .address = {rsi}}))
        .access(std::uint64_t(i) * 8, false);
    copy.add(mov_store({.sources = {rax}, .address = {rdi}}))
        .access(2048 + std::uint64_t(i) * 8, true);
  }
  const Instruction add_memory = instruction(
      Kind::load, 1, {.sources = {rax}, .destinations = {rax, flags}, .address = {rsi}});
  const Instruction fma_memory =
      instruction(Kind::load, 4, {.sources = {xmm0}, .destinations = {xmm0}, .address = {rsi}});
  const Instruction increment = instruction(
      Kind::load_store, 1, {.sources = {}, .destinations = {flags}, .address = {rdi}}, 2);
  Code counter = Code{}.add(increment).access(256, false).access(256, true);
  Code counters;
  for (std::uint64_t i = 0; i < 4; ++i) {
    counters.add(increment).access(256 + i * 64, false).access(256 + i * 64, true);
  }
  return {
      {"4 mov rax,[rax]", chase, 20, "a load from L1: 5 cycles"},
      {"8 mov r,[m]", loads, 4, "p23"},
      {"8 mov [m],r", stores, 8, "p4, and one commits a cycle"},
      {"4 mov r,[m] and mov [m],r", copy, 4, "the stores, which loads do not hold up"},
      {"4 add rax,[m]", four_loads(add_memory, 8), 4, "only the additions are a chain"},
      {"4 vfmadd xmm0,[m]", four_loads(fma_memory, 32), 16, "VFMADD231PD: latency 4"},
      {"inc [m]", counter, 7, "forwarding 5, addition 1, store 1"},
      {"inc of 4 counters", counters, 7, "four such chains beside each other"},
  };
}

TEST(MicroLoops, TakeTheCyclesThatFollowFromLatenciesAndPorts) {
  std::vector<Loop> loops = compute_loops();
  for (Loop& loop : memory_loops()) loops.push_back(std::move(loop));
  EXPECT_GE(loops.size(), 20u);
  double worst = 0;
  const char* of = "";
  for (const Loop& loop : loops) {
    CoreMachine machine;
    const double cycles = machine.cycles_each(loop.code, 1000);
    const double error = std::abs(cycles / loop.cycles - 1);
    EXPECT_LE(error, 0.05) << loop.name << ": " << cycles << " cycles, expected " << loop.cycles
                           << " (" << loop.because << ")";
    if (error < worst) continue;
    worst = error;
    of = loop.name;
  }
  std::cout << loops.size() << " loops; the worst is " << 100 * worst << " % off: " << of << '\n';
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

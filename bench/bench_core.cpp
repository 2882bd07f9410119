// bench_core SETTINGS PROGRAM FOOTPRINT N: about N instructions of a small program on the window
// core. Prints instructions, their time in ps, and loads with their time, as bench/run.py reads it.
//
//   loop     an unrolled loop over FOOTPRINT bytes: a load, a store, a branch and nine operations
//            in sixteen instructions, of which three depend on the one before
//   chase    loads that depend on each other, a line each, at random in FOOTPRINT bytes

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "frontend/program.h"

namespace {

using namespace nearfar;
using sim::cpu::Access;
using sim::cpu::Block;
using sim::cpu::Instruction;
using sim::cpu::InstructionKind;
using sim::cpu::Register;

constexpr std::uint64_t base = std::uint64_t{1} << 32;

Instruction make(InstructionKind kind, std::uint8_t latency, Register to, Register from,
                 Register address) {
  Instruction made;
  made.kind = kind;
  made.latency = latency;
  made.destinations[0] = to;
  made.sources[0] = from;
  made.address_sources[0] = address;
  return made;
}

constexpr Register none = sim::cpu::no_register;

/// Of compiled integer code: two loads, one store and a branch in twelve.
Block loop_block() {
  Block block{.pc = 0x400000, .instructions = {}};
  auto& code = block.instructions;
  code.push_back(make(InstructionKind::load, 0, 1, none, 6));
  code.push_back(make(InstructionKind::plain, 1, 2, 1, none));
  code.push_back(make(InstructionKind::plain, 1, 3, 2, none));
  code.push_back(make(InstructionKind::load, 1, 4, 4, 7));
  code.push_back(make(InstructionKind::plain, 1, 5, 5, none));
  code.push_back(make(InstructionKind::plain, 3, 8, 3, none));
  code.push_back(make(InstructionKind::plain, 1, 9, 9, none));
  code.push_back(make(InstructionKind::store, 1, none, 3, 6));
  code.push_back(make(InstructionKind::plain, 1, 10, 10, none));
  code.push_back(make(InstructionKind::plain, 1, 6, 6, none));
  code.push_back(make(InstructionKind::plain, 1, sim::cpu::flags_register, 6, none));
  code.push_back(make(InstructionKind::branch, 1, none, sim::cpu::flags_register, none));
  return block;
}

std::uint64_t run_loop(frontend::Program& program, std::uint64_t bytes, std::uint64_t count) {
  const Block block = loop_block();
  std::uint64_t done = 0;
  for (std::uint64_t at = 0; done < count; at = (at + 8) % bytes) {
    const Access accesses[] = {
        {.address = base + at, .size = 8, .instruction = 0, .store = false},
        {.address = base + (at * 3 & (bytes - 1)), .size = 8, .instruction = 3, .store = false},
        {.address = base + at, .size = 8, .instruction = 7, .store = true}};
    program.run(0, block, accesses);
    done += block.instructions.size();
  }
  return done;
}

std::uint64_t run_chase(frontend::Program& program, std::uint64_t bytes, std::uint64_t count) {
  Block block{.pc = 0x400000, .instructions = {}};
  block.instructions.push_back(make(InstructionKind::load, 0, 1, none, 1));
  block.instructions.push_back(make(InstructionKind::plain, 1, 2, 2, none));
  block.instructions.push_back(make(InstructionKind::branch, 1, none, 2, none));
  Rng rng(1);
  std::uint64_t done = 0;
  for (; done < count; done += block.instructions.size()) {
    const Access access{.address = base + rng.below(bytes / line_bytes) * line_bytes, .size = 8};
    program.run(0, block, {&access, 1});
  }
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "bench_core SETTINGS loop|chase FOOTPRINT N\n");
    return 2;
  }
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  frontend::Program program(Settings::parse(text.str()), {});
  program.thread_started();
  const std::uint64_t bytes = std::strtoull(argv[3], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[4], nullptr, 10);
  program.mapped(Address(base), bytes, frontend::Mapping::memory);
  const std::uint64_t done = std::string(argv[2]) == "loop" ? run_loop(program, bytes, count)
                                                            : run_chase(program, bytes, count);
  const unsigned long long instructions = done;
  const unsigned long long ps = program.now(0).ps();
  std::printf("%llu %llu %llu %llu\n", instructions, ps, instructions, ps);
  return 0;
}

#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "core_fixture.h"

namespace nearfar::sim::cpu::testing {

/// Any computation: of few or many operands, numbers or vectors, quick or slow, a branch, none.
inline Instruction random_computation(Rng& rng) {
  const auto any = [&] { return static_cast<int>(rng.below(6)); };
  const auto latency = [&](std::uint64_t most) {
    return static_cast<std::uint8_t>(rng.below(most + 1));
  };
  switch (rng.below(8)) {
    case 0:
      return alu({.sources = {any(), any(), any(), any()}, .destinations = {any(), any(), any()}},
                 latency(4));
    case 1:
      return alu({.sources = {16 + any(), 16 + any()}, .destinations = {16 + any()}}, latency(14));
    case 2:
      return instruction(InstructionKind::branch, 1, {.sources = {any()}});
    case 3:
      return instruction(InstructionKind::plain, latency(12), {.destinations = {any()}}, 2);
    case 4:
      return instruction(InstructionKind::plain, 0, {}, 0);
    default:
      return alu({.sources = {any(), any()}, .destinations = {any()}}, latency(4));
  }
}

/// A random program: computations, loads and stores of so many lines, dependences at random,
/// flushes, fences and non-temporal stores here and there.
inline std::vector<Code> random_program(std::uint64_t seed, std::size_t blocks,
                                        std::uint64_t lines = 600) {
  Rng rng(seed);
  std::vector<Code> codes(blocks);
  const auto any = [&] { return static_cast<int>(rng.below(6)); };
  for (Code& code : codes) {
    code.block.pc = 0x1000 + 64 * rng.below(12);
    for (std::uint64_t n = 1 + rng.below(10); n > 0; --n) {
      const std::uint64_t address = 64 * rng.below(lines) + 8 * rng.below(8);
      const std::uint64_t dice = rng.below(100);
      if (dice < 45) {
        code.add(random_computation(rng));
      } else if (dice < 75) {
        code.add(
            rng.below(3) != 0
                ? mov_load({.destinations = {any()}, .address = {any()}})
                : instruction(InstructionKind::load, 1,
                              {.sources = {any()}, .destinations = {any()}, .address = {any()}}));
        code.access(address, false, static_cast<std::uint16_t>(8 + 8 * rng.below(4)));
      } else if (dice < 90) {
        code.add(mov_store({.sources = {any()}, .address = {any()}})).access(address, true);
      } else if (dice < 93) {
        code.add(instruction(InstructionKind::nt_store, 1, {.sources = {any()}}))
            .access(address, true);
      } else if (dice < 96) {
        code.add(instruction(InstructionKind::flush, 1)).access(address, false, 0);
      } else if (dice < 97) {
        code.add(instruction(InstructionKind::prefetch, 1, {.address = {any()}}))
            .access(address, false, 0);
      } else if (dice < 98) {
        code.add(instruction(InstructionKind::store_fence, 1));
      } else if (dice < 99) {
        code.add(instruction(InstructionKind::full_fence, 1));
      } else {
        code.add(instruction(InstructionKind::locked, 18,
                             {.sources = {any()}, .destinations = {any()}}, 4));
        code.access(address, false).access(address, true);
      }
    }
  }
  return codes;
}

}  // namespace nearfar::sim::cpu::testing

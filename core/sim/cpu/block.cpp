#include "sim/cpu/block.h"

#include <algorithm>

namespace nearfar::sim::cpu {
namespace {

Digest::Way way_of(const Instruction& instruction) {
  if (instruction.uops == 0) return Digest::Way::nothing;
  if (instruction.uops != 1) return Digest::Way::general;
  switch (instruction.kind) {
    case InstructionKind::plain:
    case InstructionKind::branch:
      return instruction.sources[2] == no_register && instruction.destinations[2] == no_register
                 ? Digest::Way::compute
                 : Digest::Way::compute_more;
    case InstructionKind::load:
      return Digest::Way::load;
    case InstructionKind::store:
      return Digest::Way::store;
    default:
      return Digest::Way::general;
  }
}

/// Which ports take an operation follows from what it computes with and how long that takes:
/// general registers one cycle on any, longer on port 1 (multiply); vector registers one cycle on
/// 0, 1 and 5, longer on 0 and 1 (floating point). Division is on port 0, which it does not hold.
Ports::Mask ports_of(const Instruction& instruction) {
  constexpr std::uint8_t division = 10;
  if (instruction.latency == 0) return 0;
  if (instruction.kind == InstructionKind::branch || instruction.jumps) return Ports::p6;
  if (instruction.latency >= division) return Ports::p0;
  const Register first = instruction.destinations[0];
  const bool vector = first >= first_vector && first < flags_register;
  if (!vector) return instruction.latency == 1 ? Ports::any_alu : Ports::p1;
  return instruction.latency == 1 ? Ports::p0 | Ports::p1 | Ports::p5 : Ports::p0 | Ports::p1;
}

}  // namespace

Digest Digest::of(const Instruction& instruction) {
  Digest step{.way = way_of(instruction),
              .ports = ports_of(instruction),
              .latency = instruction.latency,
              .sources = instruction.sources,
              .address_sources = instruction.address_sources,
              .destinations = instruction.destinations};
  std::replace(step.destinations.begin(), step.destinations.end(), no_register, nowhere);
  return step;
}

}  // namespace nearfar::sim::cpu

#include "frontend/qemu/pointer_loads.h"

#include "frontend/qemu/translate.h"

namespace nearfar::frontend::qemu {
namespace {

using sim::cpu::Instruction;
using sim::cpu::InstructionKind;
using sim::cpu::Register;

constexpr Register general_end = sim::cpu::first_vector;

/// Nothing but a general register's new value, from memory or from another register.
bool moves(const Instruction& one) {
  return one.latency == 0 && one.destinations[0] < general_end &&
         one.destinations[1] == sim::cpu::no_register;
}

bool loads_whole(const Decoded& one) {
  return one.instruction.kind == InstructionKind::load && moves(one.instruction) &&
         one.loads_pointer_size && one.instruction.sources[0] == sim::cpu::no_register;
}

}  // namespace

PointerLoads::PointerLoads(std::span<const Located> instructions)
    : may_be_(instructions.size()),
      found_(std::make_unique<std::atomic<bool>[]>(instructions.size())) {
  for (std::size_t r = 0; r < registers; ++r) {
    left_[r] = {Left::From::before, static_cast<std::uint16_t>(r)};
  }
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Decoded& decoded = instructions[i].decoded;
    const Instruction& one = decoded.instruction;
    if (decoded.base < general_end) {
      const Left& base = left_[decoded.base];
      if (base.from == Left::From::load) found(base.which);
      if (base.from == Left::From::before) {
        bases_ = static_cast<std::uint16_t>(bases_ | 1u << base.which);
      }
    }
    Left value{};
    if (loads_whole(decoded)) {
      may_be_[i] = true;
      value = {Left::From::load, static_cast<std::uint16_t>(i)};
    } else if (one.kind == InstructionKind::plain && moves(one) && one.sources[0] < general_end &&
               one.sources[1] == sim::cpu::no_register) {
      value = left_[one.sources[0]];
    }
    for (const Register written : one.destinations) {
      if (written < general_end) left_[written] = value;
    }
  }
}

void PointerOrigins::follow(const PointerLoads& block) {
  for (std::size_t r = 0; r < PointerLoads::registers; ++r) {
    const Origin& base = origins_[r];
    if ((block.bases_ >> r & 1) != 0 && base.block != nullptr) base.block->found(base.load);
  }
  const auto before = origins_;
  for (std::size_t r = 0; r < PointerLoads::registers; ++r) {
    const PointerLoads::Left& left = block.left_[r];
    switch (left.from) {
      case PointerLoads::Left::From::before:
        origins_[r] = before[left.which];
        break;
      case PointerLoads::Left::From::load:
        origins_[r] = {&block, left.which};
        break;
      case PointerLoads::Left::From::other:
        origins_[r] = {};
        break;
    }
  }
}

}  // namespace nearfar::frontend::qemu

#include <algorithm>

#include "sim/cpu/window_core.h"

/// The window core's way for most instructions: what takes one issue slot, computes or accesses
/// one line that L1 has, and waits for nothing that is not known. It does what the general way
/// would, and leaves to that whatever else there is.
namespace nearfar::sim::cpu {
namespace {

bool in_one_line(const Access& access) {
  return access.address % line_bytes + access.size <= line_bytes;
}

}  // namespace

/// Room for a slot in the reorder buffer, which puts `at` off until there is.
inline bool WindowCore::slot_free(Fine& at) {
  if (tail_ < config_.rob) return true;
  const Position before = tail_ - config_.rob;
  if (before >= head_) return false;
  at = std::max(at, slot(before).time);
  return true;
}

inline Fine WindowCore::sources_of(const Instruction& instruction, Fine at) const {
  const auto& sources = instruction.sources;
  at = std::max({at, values_[sources[0]], values_[sources[1]]});
  if (sources[2] == no_register) return at;
  return std::max({at, values_[sources[2]], values_[sources[3]]});
}

inline Fine WindowCore::address_of(const Instruction& instruction, Fine at) const {
  for (const Register source : instruction.address_sources) at = std::max(at, values_[source]);
  return at;
}

/// The instruction is complete, as its slot says; and retires, if all before it has.
inline void WindowCore::finish_quick(const Instruction& instruction, const Slot& done) {
  delay_ = Cause::base;
  dispatch_ = done.begin + slot_time_;
  set_values(instruction, done.time);
  const Position position = tail_++;
  Slot& here = slot(position);
  if (head_ == position) {
    here.time = retire_next(done);
    head_ = position + 1;
  } else {
    here = done;
  }
}

inline bool WindowCore::quick_compute(const Instruction& instruction) {
  Fine at = dispatch_;
  if (!slot_free(at)) return false;
  const Fine latest = sources_of(instruction, at);
  if (!known(latest)) return false;
  const Operation& operation = computes(instruction);
  const Fine value =
      operation.ports == 0 ? latest : ports_.take(latest, operation.ports) + operation.latency;
  finish_quick(instruction, {.time = value, .begin = at, .delayed_by = delay_});
  return true;
}

inline bool WindowCore::quick_load(const Instruction& instruction, const Access& access) {
  Fine at = dispatch_;
  if (!slot_free(at)) return false;
  if (load_count_ >= config_.loads) {
    const Position before = loads_[(load_count_ - config_.loads) & load_mask_];
    if (before >= head_) return false;
    if (before + rob_.size() > tail_) at = std::max(at, slot(before).time);
  }
  const Fine address = address_of(instruction, at);
  Fine latest = sources_of(instruction, at);
  if (!known(std::max(address, latest))) return false;
  Fine data = 0;
  if (stores_.forwards(access.address, address, data) ||
      !socket_.caches().quick(core_, place_of(access.address), Hierarchy::Kind::load)) {
    return false;
  }
  ++counts_.loads;
  loads_[load_count_++ & load_mask_] = tail_;
  latest = std::max(latest, ports_.take(address, Ports::load) + l1_latency_);
  const Operation& operation = computes(instruction);
  const Fine value =
      operation.ports == 0 ? latest : ports_.take(latest, operation.ports) + operation.latency;
  finish_quick(instruction, {.time = value, .begin = at, .cause = Cause::l1, .delayed_by = delay_});
  return true;
}

inline bool WindowCore::quick_store(const Instruction& instruction, const Access& access) {
  Fine at = dispatch_;
  if (!slot_free(at)) return false;
  const Fine without_queue = at;
  if (!stores_.room(1, at)) return false;
  const Fine address = address_of(instruction, at);
  const Fine latest = sources_of(instruction, address);
  if (!known(latest)) return false;
  ++counts_.stores;
  const Position position = tail_;
  const StoreBuffer::Number number =
      stores_.push(StoreBuffer::Kind::store, place_of(access.address), access.size, position);
  stores_.ask(number, address);
  const Fine value = ports_.take(latest, Ports::store) + period_;
  stores_.set_data(number, value);
  const Cause delayed_by = at != without_queue ? Cause::store_queue : delay_;
  finish_quick(instruction, {.time = value, .begin = at, .delayed_by = delayed_by});
  if (head_ == tail_) stores_.retired(position, retired_);
  return true;
}

inline bool WindowCore::quick(const Instruction& instruction, std::span<const Access> accesses) {
  if (instruction.uops != 1) return false;
  if (accesses.empty()) {
    return instruction.kind <= InstructionKind::branch && quick_compute(instruction);
  }
  if (accesses.size() != 1 || cut_ || !in_one_line(accesses[0])) return false;
  if (instruction.kind == InstructionKind::load) return quick_load(instruction, accesses[0]);
  return instruction.kind == InstructionKind::store && quick_store(instruction, accesses[0]);
}

bool WindowCore::play(const Block& block, std::span<const Access> accesses) {
  if (!entered_ && !enter(block)) return false;
  const std::size_t begin = next_instruction_;
  std::size_t next = begin;
  std::size_t access = next_access_;
  for (; next != block.instructions.size(); ++next) {
    const Instruction& instruction = block.instructions[next];
    std::size_t end = access;
    while (end != accesses.size() && accesses[end].instruction == next) ++end;
    if (!quick(instruction, accesses.subspan(access, end - access)) &&
        !issue(instruction, accesses.subspan(access, end - access))) {
      break;
    }
    access = end;
  }
  counts_.instructions += next - begin;
  next_instruction_ = next;
  next_access_ = access;
  if (next != block.instructions.size()) return false;
  branch_ = last_value_;
  next_instruction_ = next_access_ = 0;
  entered_ = false;
  return true;
}

}  // namespace nearfar::sim::cpu

#include <algorithm>

#include "sim/cpu/window_core.h"

/// The window core's instructions that wait for others, or that others wait for.
namespace nearfar::sim::cpu {

bool WindowCore::issue_ordering(const Instruction& instruction, std::span<const Access> accesses) {
  switch (instruction.kind) {
    case InstructionKind::flush:
    case InstructionKind::flush_invalidate:
    case InstructionKind::flush_ordered:
      return accesses.empty() ? issue_pieces(instruction, {})
                              : issue_flush(instruction, accesses.front());
    case InstructionKind::store_fence:
      if (!dispatch(1, 0, 1)) return false;
      stores_.push(StoreBuffer::Kind::fence, {}, 0, tail_ - 1);
      ++counts_.fences;
      finish(instruction, start_, Cause::base);
      return true;
    case InstructionKind::full_fence:
      return issue_full_fence(instruction);
    case InstructionKind::load_fence:
    case InstructionKind::system_call:
      if (head_ != tail_) return false;
      put_off(retired_, Cause::fence);
      return issue_pieces(instruction, {});
    case InstructionKind::locked:
      if (!cut_) {
        if (!wait_for_all()) return false;
        cut(accesses);
      }
      if (!issue_cut(instruction)) return false;
      ++counts_.fences;
      return true;
    default:
      // pause
      if (!issue_pieces(instruction, {})) return false;
      put_off(start_ + instruction.latency * period_, Cause::base);
      return true;
  }
}

/// Nothing that comes later begins before all that came earlier is done, and accepted.
bool WindowCore::issue_full_fence(const Instruction& instruction) {
  if (!fence_entered_) {
    if (!dispatch(1, 0, 1)) return false;
    stores_.push(StoreBuffer::Kind::full_fence, {}, 0, tail_ - 1);
    ++counts_.fences;
    finish(instruction, start_, Cause::base);
    fence_entered_ = true;
  }
  if (!wait_for_all()) return false;
  put_off(stores_.ordered_at(), Cause::fence);
  fence_entered_ = false;
  return true;
}

/// False while anything has not retired, or a store not committed.
bool WindowCore::wait_for_all() {
  if (head_ != tail_ || !stores_.empty()) return false;
  put_off(std::max(retired_, stores_.last_commit()), Cause::fence);
  return true;
}

bool WindowCore::issue_flush(const Instruction& instruction, const Access& access) {
  if (!dispatch(1, 0, 1)) return false;
  const StoreBuffer::Kind kind = instruction.kind == InstructionKind::flush
                                     ? StoreBuffer::Kind::flush_keep
                                     : StoreBuffer::Kind::flush_drop;
  stores_.push(kind, place_of(access.address), 0, tail_ - 1);
  finish(instruction, start_, Cause::base);
  return true;
}

bool WindowCore::flush_line(Address line, bool keep) {
  Instruction instruction;
  instruction.kind = keep ? InstructionKind::flush : InstructionKind::flush_invalidate;
  return issue_flush(instruction, {.address = line.value()});
}

}  // namespace nearfar::sim::cpu

#include "sim/cpu/simple_core.h"

#include <algorithm>

namespace nearfar::sim::cpu {

bool SimpleCore::play(const Block& block, std::span<const Access> accesses) {
  for (; next_instruction_ < block.instructions.size(); ++next_instruction_) {
    const Instruction& instruction = block.instructions[next_instruction_];
    bool accessed = false;
    while (next_access_ < accesses.size() &&
           accesses[next_access_].instruction == next_instruction_) {
      const bool marked = next_access_ + 1 < accesses.size() && accesses[next_access_ + 1].pointer;
      const Access& first = accesses[next_access_];
      const bool whole = first.address % line_bytes + first.size <= line_bytes;
      leads_to_ = marked && whole ? Address(accesses[next_access_ + 1].address) : Address{};
      if (!touch(instruction, accesses[next_access_])) return false;
      next_access_ += marked ? 2 : 1;
      accessed = true;
    }
    if (!accessed && !order(instruction, nullptr)) return false;
    ++counts_.instructions;
    ++position_;
    pass(now_ + period_, Cause::base);
  }
  next_instruction_ = next_access_ = 0;
  return true;
}

/// One access, line by line.
bool SimpleCore::touch(const Instruction& instruction, const Access& access) {
  if (instruction.kind >= InstructionKind::flush && instruction.kind != InstructionKind::locked &&
      instruction.kind != InstructionKind::prefetch) {
    return order(instruction, &access);
  }
  if (instruction.kind == InstructionKind::prefetch) return true;
  if (instruction.kind == InstructionKind::locked && done_bytes_ == 0 && !stores_.empty()) {
    return false;
  }
  const std::uint32_t size = std::max<std::uint32_t>(access.size, 1);
  while (done_bytes_ < size) {
    const std::uint64_t address = access.address + done_bytes_;
    const auto piece = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(size - done_bytes_, line_bytes - address % line_bytes));
    const auto kind = instruction.kind == InstructionKind::nt_store ? StoreBuffer::Kind::nt_store
                                                                    : StoreBuffer::Kind::store;
    if (!(access.store ? store_line(kind, address, piece) : load_line(address))) return false;
    done_bytes_ += piece;
  }
  done_bytes_ = 0;
  return true;
}

bool SimpleCore::load_line(std::uint64_t address) {
  if (waiting_) return false;
  if (!arrived_) {
    asked_ = place_of(address);
    asked_.leads_to = leads_to_;
    ++counts_.loads;
    if (socket_.caches().quick(core_, asked_, Hierarchy::Kind::load)) {
      socket_.marked_hit(core_, asked_);
      return true;
    }
    waiting_ = true;
    asked_at_ = walk_ = Tick{};
    socket_.call_at(coarse(now_), core_, 0);
    return false;
  }
  arrived_ = false;
  return true;
}

bool SimpleCore::store_line(StoreBuffer::Kind kind, std::uint64_t address, std::uint32_t size) {
  Fine at = now_;
  if (!stores_.room(1, at)) return false;
  pass(at, Cause::store_queue);
  const StoreBuffer::Number number = stores_.push(kind, place_of(address), size, position_);
  ++counts_.stores;
  if (kind == StoreBuffer::Kind::store) stores_.ask(number, now_);
  stores_.retired(position_, now_);
  return true;
}

/// Fences, flushes, and what is neither.
bool SimpleCore::order(const Instruction& instruction, const Access* access) {
  const InstructionKind kind = instruction.kind;
  if (kind == InstructionKind::flush || kind == InstructionKind::flush_invalidate ||
      kind == InstructionKind::flush_ordered) {
    if (access == nullptr) return true;
    return store_line(kind == InstructionKind::flush ? StoreBuffer::Kind::flush_keep
                                                     : StoreBuffer::Kind::flush_drop,
                      access->address, 0);
  }
  if (kind == InstructionKind::store_fence || kind == InstructionKind::full_fence) {
    const bool full = kind == InstructionKind::full_fence;
    if (!fence_entered_) {
      Fine at = now_;
      if (!stores_.room(1, at)) return false;
      pass(at, Cause::store_queue);
      stores_.push(full ? StoreBuffer::Kind::full_fence : StoreBuffer::Kind::fence, {}, 0,
                   position_);
      stores_.retired(position_, now_);
      ++counts_.fences;
      fence_entered_ = full;
      if (!full) return true;
    }
    if (!stores_.empty()) return false;
    pass(stores_.ordered_at(), Cause::fence);
    fence_entered_ = false;
  }
  return true;
}

bool SimpleCore::flush_line(Address line, bool keep) {
  if (!store_line(keep ? StoreBuffer::Kind::flush_keep : StoreBuffer::Kind::flush_drop,
                  line.value(), 0)) {
    return false;
  }
  ++position_;
  return true;
}

void SimpleCore::ask() {
  if (asked_at_ == Tick{}) asked_at_ = socket_.now();
  const Hierarchy::Answer answer = socket_.access(core_, asked_, Hierarchy::Kind::load, 0);
  refused_ = answer.state == Hierarchy::Answer::State::full;
  if (answer.state == Hierarchy::Answer::State::waits) walk_ += answer.latency;
  if (answer.state != Hierarchy::Answer::State::hit) return;
  constexpr Cause cause_of[] = {Cause::l1, Cause::l2, Cause::l3, Cause::memory};
  here(socket_.now() + answer.latency, cause_of[static_cast<std::size_t>(answer.source())],
       walk_ + answer.latency - answer.behind - socket_.caches().latency(answer.level));
}

void SimpleCore::here(Tick at, Cause cause, Tick walk) {
  counts_.load_latency.add((at - asked_at_).ps());
  pass(std::min(now_ + fine(walk), fine(at)), Cause::tlb);
  pass(fine(at), cause);
  waiting_ = false;
  arrived_ = true;
}

void SimpleCore::pass(Fine until, Cause cause) {
  if (until <= now_) return;
  if (cause != Cause::away) counts_.stack[static_cast<std::size_t>(cause)] += until - now_;
  now_ = until;
}

void SimpleCore::arrived(Socket::Waiter waiter, Tick now) {
  if ((waiter & StoreBuffer::is_mine) != 0) {
    stores_.arrived(waiter, now);
  } else {
    here(now, Cause::memory, walk_);
  }
}

void SimpleCore::translated(Socket::Waiter waiter, Tick now) {
  if ((waiter & StoreBuffer::is_mine) != 0) {
    stores_.translated(waiter);
  } else {
    asked_.translated = true;
    walk_ = now - asked_at_;
    ask();
  }
}

void SimpleCore::due(Socket::Waiter token, Tick now) {
  if ((token & StoreBuffer::is_mine) != 0) {
    stores_.due(token, now);
  } else {
    ask();
  }
}

void SimpleCore::retry(Tick now) {
  if (refused_) ask();
  stores_.retry(now);
}

}  // namespace nearfar::sim::cpu

#include "frontend/page_gate.h"

#include <algorithm>
#include <utility>

namespace nearfar::frontend {

using sim::cpu::Access;
using sim::cpu::InstructionKind;

PageGate::PageGate(AddressSpace& space, Mover& mover) : space_(space), mover_(mover) {
  mover_.when_copied([this](Mover::Waiter waiter, Tick now) { copied(waiter, now); });
}

std::optional<Tick> PageGate::pass(sim::cpu::Socket::Core core, const sim::cpu::Block& block,
                                   std::span<const Access> accesses, Tick now, bool drained) {
  if (core >= waiting_.size()) waiting_.resize(core + std::size_t{1});
  Waiting& waiting = waiting_[core];
  if (waiting.faults) return std::nullopt;
  if (mover_.is_full()) {
    if (!waiting.held) ++held_;
    waiting.held = true;
    return std::nullopt;
  }
  if (waiting.held) waiting.begin = max(waiting.begin, mover_.room_since());
  waiting.held = false;
  while (waiting.access < accesses.size()) {
    const Access& access = accesses[waiting.access];
    // A prefetch that faults is dropped; what a pointer leads to is not accessed.
    const bool hint =
        access.pointer || block.instructions[access.instruction].kind == InstructionKind::prefetch;
    if (!hint && !touch(waiting, core, access, max(now, waiting.begin), drained)) {
      return std::nullopt;
    }
    ++waiting.access;
    waiting.touched = 0;
  }
  waiting.access = 0;
  return std::exchange(waiting.begin, Tick{});
}

/// Touches the rest of what an access is to. False where the core has to wait.
bool PageGate::touch(Waiting& waiting, sim::cpu::Socket::Core core, const Access& access, Tick now,
                     bool drained) {
  const Bytes bytes = std::max<Bytes>(access.size, 1);
  while (waiting.touched < bytes) {
    const Address address(access.address + waiting.touched);
    const Bytes in_page = space_.left_of_page(address);
    const std::uint64_t page = address.value() + in_page;  // its end tells pages apart as well
    if (faulting_ != 0 && bringing(page)) {
      waiting.awaits = page;
      return false;
    }
    const bool faults = space_.faults(address);
    if (faults && !drained) return false;
    copies_.clear();
    space_.touch(address, access.store, now, copies_);
    if (const Tick took = space_.take_policy_time(); took != Tick{}) {
      waiting.begin = max(waiting.begin, now) + took;
    }
    waiting.touched += in_page;
    for (const AddressSpace::Copy& copy : copies_) {
      mover_.copy(copy, now, faults ? core : Mover::no_waiter);
    }
    if (!faults || copies_.empty()) continue;
    waiting.faults = true;
    waiting.page = page;
    ++faulting_;
    return false;
  }
  return true;
}

/// Whether a page is on its way for some core.
bool PageGate::bringing(std::uint64_t page) const {
  return std::ranges::any_of(
      waiting_, [&](const Waiting& other) { return other.faults && other.page == page; });
}

void PageGate::copied(Mover::Waiter waiter, Tick now) {
  Waiting& faulted = waiting_[waiter];
  faulted.faults = false;
  --faulting_;
  faulted.begin = now;
  for (Waiting& other : waiting_) {
    if (other.awaits != faulted.page) continue;
    other.awaits = 0;
    other.begin = now;
  }
}

}  // namespace nearfar::frontend

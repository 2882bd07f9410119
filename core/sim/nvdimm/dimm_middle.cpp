#include "sim/nvdimm/dimm.h"

/// What a DIMM with a middle buffer does between its first level and translation.

namespace nearfar::sim::nvdimm {

/// Sees to it that the entry of `at` has a place here before it gets one in the first level;
/// false when nothing can leave.
bool Dimm::claim_middle(Address at) {
  const Slot home = middle_->find(at);
  if (home != BlockTable::none) {
    middle_->touch(home);
    return true;
  }
  if (!middle_->has_room(at)) return false;
  middle_->insert(at);
  if (!middle_->evicted()) return true;
  const Address gone = middle_->evicted_entry();
  for (Bytes offset = 0; offset < middle_->entry(); offset += config_.rmw.entry) {
    const Slot slot = rmw_.find(geometry_.entry_of(gone + offset));
    if (slot != BlockTable::none) rmw_.erase(slot);
  }
  return true;
}

/// Brings in what is missing of a first-level entry, the sector of `at` first.
void Dimm::fetch_through_middle(Slot slot, Address at, Tick now) {
  MiddleBuffer& middle = *middle_;
  const Slot home = middle.find(at);
  middle.touch(home);
  ++(middle[middle.sector_of(home, at)].absent() ? middle.misses : middle.hits);
  const Tick looked_up = now + config_.lsq.latency + config_.rmw.latency + middle.latency();
  const Index first = geometry_.sector_of(slot, at);
  for (Index i = 0; i < geometry_.sectors_per_entry(); ++i) {
    const Index index =
        slot * geometry_.sectors_per_entry() + ((first + i) & (geometry_.sectors_per_entry() - 1));
    if (!sectors_[index].absent()) continue;
    const Address part = i == 0 ? at : sector_address(index);
    const Index from = middle.sector_of(home, part);
    if (middle[from].absent()) fetch_middle(home, part, looked_up);
    ++sectors_[index].busy;
    rmw_.pin(slot);
    middle.pin(home);
    if (middle[from].complete.is_never()) {
      middle.wait(from, index);
    } else {
      const Tick here = max(looked_up, middle[from].complete);
      complete_at(index, here);
      events_.push(here, {Event::Kind::filled, index});
    }
  }
}

/// Asks for everything that is missing of an entry, the sector of `at` first.
void Dimm::fetch_middle(Slot home, Address at, Tick looked_up) {
  MiddleBuffer& middle = *middle_;
  const Index sectors = middle.sectors_per_entry();
  const Address entry = at.aligned_down(middle.entry());
  const Index first = middle.sector_of(home, at) % sectors;
  Index head = none;
  Index tail = none;
  for (Index i = 0; i < sectors; ++i) {
    const Index number = (first + i) % sectors;
    MiddleBuffer::Sector& sector = middle[home * sectors + number];
    if (!sector.absent()) continue;
    sector.asked = true;
    middle.pin(home);
    Transfer transfer;
    transfer.kind = Transfer::Kind::fetch_middle;
    transfer.at = entry + number * middle.sector_bytes();
    transfer.into = home * sectors + number;
    const Index next = transfers_.take(transfer);
    (head == none ? head : transfers_[tail].next) = next;
    tail = next;
  }
  events_.push(looked_up + ait_latency_, {Event::Kind::translate, head});
}

/// It is known that a sector will be here at `at`; those that wait for it get it then, too.
void Dimm::middle_complete_at(Index index, Tick at) {
  MiddleBuffer::Sector& sector = (*middle_)[index];
  sector.complete = at;
  for (Index waiter = sector.first_waiting; waiter != none;
       waiter = middle_->next_waiting(waiter)) {
    complete_at(waiter, at);
  }
}

void Dimm::middle_arrived(Index index) {
  const Slot home = middle_->slot_of(index);
  MiddleBuffer::Sector& sector = (*middle_)[index];
  sector.asked = false;
  middle_->unpin(home);
  for (Index waiter = sector.first_waiting; waiter != none;
       waiter = middle_->next_waiting(waiter)) {
    settle(waiter);
    middle_->unpin(home);
  }
  sector.first_waiting = none;
}

/// A first-level sector has its copy.
void Dimm::filled(Index sector, Tick now) {
  middle_->unpin(middle_->find(sector_address(sector)));
  settle(sector);
  if (!stalled_.empty()) retry_stalled(now);
}

}  // namespace nearfar::sim::nvdimm

#include <algorithm>

#include "sim/nvdimm/dimm.h"

namespace nearfar::sim::nvdimm {

void Dimm::read_arrives(Index read, Tick now) {
  ++read_lines_;
  draw_lines(1, now);
  Read& arriving = reads_[read];
  if (!lsq_.empty() && lsq_.forwards(geometry_.block_of(arriving.line),
                                     geometry_.line_in_block(arriving.line), arriving.data)) {
    ++lsq_forwards_;
    respond(read, now + config_.lsq.latency);
    return;
  }
  if (lazy_ && lazy_serves(read, now)) [[unlikely]] {
    return;
  }
  // A read behind others that found no slot keeps its place.
  if (!stalled_.empty() || !look_up(read, now)) stalled_.push_back({false, read});
}

Dimm::Hit Dimm::hit(Address device, Tick at) const {
  Hit hit;
  if (!lsq_.empty() || !stalled_.empty()) return hit;
  if (lazy_ && lazy_holds(device)) [[unlikely]] {
    return hit;
  }
  hit.slot = rmw_.find(geometry_.entry_of(device));
  if (hit.slot == BlockTable::none) return hit;
  hit.sector = geometry_.sector_of(hit.slot, device);
  hit.line = geometry_.line_in_sector(device);
  if ((sectors_[hit.sector].ready >> hit.line & 1) == 0) return hit;
  hit.lane = static_cast<std::uint32_t>(lane_of(device));
  hit.ready = max(at + config_.lsq.latency + config_.rmw.latency, lane_free_[hit.lane]);
  return hit;
}

DataHandle Dimm::take(const Hit& hit, Tick at) {
  ++read_lines_;
  draw_lines(1, at);
  ++rmw_hits_;
  rmw_.touch(hit.slot);
  lane_free_[hit.lane] = hit.ready + config_.rmw_line;
  return data_in_use_ ? rmw_data(hit.sector, hit.line) : 0;
}

bool Dimm::look_up(Index read, Tick now) {
  const Address line = reads_[read].line;
  Slot slot = rmw_.find(geometry_.entry_of(line));
  if (slot != BlockTable::none) {
    rmw_.touch(slot);
    const Index sector = geometry_.sector_of(slot, line);
    if (!sectors_[sector].absent()) {
      ++rmw_hits_;
      serve(read, sector, now);
      return true;
    }
  } else {
    slot = claim(line);
    if (slot == BlockTable::none) return false;
  }
  ++rmw_misses_;
  wait(read, sectors_[geometry_.sector_of(slot, line)]);
  if (middle_) {
    fetch_through_middle(slot, line, now);
  } else {
    fetch(slot, line, now);
  }
  return true;
}

/// Takes a slot for the entry of `at`, which has none; none when nothing can leave.
Dimm::Slot Dimm::claim(Address at) {
  const std::uint64_t entry = geometry_.entry_of(at);
  if (middle_ && !(rmw_.has_room(entry) && claim_middle(at))) return BlockTable::none;
  const Slot slot = rmw_.insert(entry);
  if (slot == BlockTable::none) return slot;
  const Index first = slot * geometry_.sectors_per_entry();
  for (Index i = 0; i < geometry_.sectors_per_entry(); ++i) sectors_[first + i] = Sector{};
  return slot;
}

/// Brings in what is missing of an entry with one translation, the sector of `at` first.
void Dimm::fetch(Slot slot, Address at, Tick now) {
  const Index first = geometry_.sector_of(slot, at);
  sectors_[first].wanted = geometry_.line_in_sector(at);
  const Index head = fetch_sector(first, at);
  if (geometry_.sectors_per_entry() > 1) fetch_others(head);
  events_.push(now + config_.lsq.latency + config_.rmw.latency + ait_latency_,
               {Event::Kind::translate, head});
}

Dimm::Index Dimm::fetch_sector(Index sector, Address at) {
  ++sectors_[sector].busy;
  rmw_.pin(geometry_.slot_of(sector));
  const Index index = transfers_.take_any();
  Transfer& transfer = transfers_[index];
  transfer.kind = Transfer::Kind::fetch;
  transfer.at = at;
  transfer.into = sector;
  transfer.next = none;
  transfer.place = none;
  return index;
}

void Dimm::fetch_others(Index head) {
  const Index first = transfers_[head].into;
  const Index mask = geometry_.sectors_per_entry() - 1;
  Index tail = head;
  for (Index i = 1; i <= mask; ++i) {
    const Index sector = (first & ~mask) | ((first + i) & mask);
    if (!sectors_[sector].absent()) continue;
    const Index next = fetch_sector(sector, sector_address(sector));
    transfers_[tail].next = next;
    tail = next;
  }
}

[[gnu::flatten]] void Dimm::serve(Index read, Index index, Tick now) {
  Read& waiting = reads_[read];
  Sector& sector = sectors_[index];
  const Tick looked_up = now + config_.lsq.latency + config_.rmw.latency;
  const std::uint32_t line = geometry_.line_in_sector(waiting.line);
  const bool ready = (sector.ready >> line & 1) != 0;
  if (ready || !sector.complete.is_never()) {
    waiting.data = rmw_data(index, line);
    respond(read, ready ? looked_up : max(looked_up, sector.complete));
  } else {
    wait(read, sector);
  }
}

void Dimm::wait(Index read, Sector& sector) {
  reads_[read].next = none;
  (sector.first_waiting == none ? sector.first_waiting : reads_[sector.last_waiting].next) = read;
  sector.last_waiting = read;
}

void Dimm::serve_waiting(Index index, Tick now) {
  Sector& sector = sectors_[index];
  Index read = sector.first_waiting;
  sector.first_waiting = none;
  while (read != none) {
    Read& waiting = reads_[read];
    const Index next = waiting.next;
    const std::uint32_t line = geometry_.line_in_sector(waiting.line);
    if ((sector.ready >> line & 1) != 0 || !sector.complete.is_never()) {
      waiting.data = rmw_data(index, line);
      respond(read, now);
    } else {
      wait(read, sector);
    }
    read = next;
  }
}

void Dimm::leave(Index read, Tick now, std::vector<Reply>& replies) {
  const Read& leaving = reads_[read];
  if (leaving.marked && held_back(read)) return;
  Tick& free = lane_free_[lane_of(leaving.line)];
  if (free > now) {
    respond(read, free);
    return;
  }
  free = now + config_.rmw_line;
  replies.push_back({now, leaving.tag, leaving.data, leaving.frame});
  if (leaving.marked) forget_marks(reads_[read]);
  reads_.give_back(read);
}

/// It is known that a sector will be here at `at`.
void Dimm::complete_at(Index index, Tick at) {
  sectors_[index].complete = at;
  if (data_in_use_) load_data(index);
  serve_waiting(index, at);
}

/// A transfer of a sector has ended; all of it is here.
void Dimm::settle(Index index) {
  Sector& sector = sectors_[index];
  sector.ready = geometry_.all_lines();
  --sector.busy;
  rmw_.unpin(geometry_.slot_of(index));
}

void Dimm::retry_stalled(Tick now) {
  while (!stalled_.empty()) {
    const Stalled first = stalled_.front();
    const bool started = first.write ? start_write(first.index, now) : look_up(first.index, now);
    if (!started) return;
    stalled_.pop_front();
  }
}

/// The data of the lines that are not there yet, as everything behind the RMW buffer has them.
void Dimm::load_data(Index index) {
  const std::uint64_t first = wear_.translate(sector_address(index)).value() / line_bytes;
  for (std::uint32_t line = 0; line < geometry_.lines_per_sector(); ++line) {
    if ((sectors_[index].ready >> line & 1) != 0) continue;
    const auto found = content_.find(first + line);
    rmw_data(index, line) = found == content_.end() ? 0 : found->second;
  }
}

}  // namespace nearfar::sim::nvdimm

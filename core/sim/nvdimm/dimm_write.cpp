#include "sim/nvdimm/dimm.h"

#include <algorithm>
#include <bit>

namespace nearfar::sim::nvdimm {

void Dimm::write_arrives(Index arrival, Tick now) {
  ++write_lines_;
  draw_lines(1, now);
  const Arrival arrived = arrivals_[arrival];
  arrivals_.give_back(arrival);
  const MediaNotice notice{arrived.request.id, arrived.request.address};
  lsq_.write(geometry_.block_of(arrived.device), geometry_.line_in_block(arrived.device),
             arrived.request.data, arrived.request.tell_media ? &notice : nullptr, now);
  --writes_on_bus_;
  // The queue drains when the last line before the fence is here: a block whose lines are
  // still arriving must not leave in pieces.
  if (fenced_writes_ > 0 && --fenced_writes_ == 0) lsq_.drain_all();
}

void Dimm::drain(Tick now) {
  while ((writes_under_way_ < config_.media.write_queue || lazy_) && lsq_.must_drain(now)) {
    if (writes_under_way_ >= config_.media.write_queue && !absorbs_oldest()) return;
    const Index index = writes_.take_any();
    Write& write = writes_[index];
    lsq_.take_oldest(write.group);
    write.announced = static_cast<std::uint32_t>(std::popcount(write.group.lines));
    if (lazy_) absorb(write, now);
    if (write.group.lines != 0) {
      send(index, now);
    } else {
      notify(write.group, now);
      writes_.give_back(index);
    }
  }
}

/// A write sets out for the media, behind those that found no slot.
void Dimm::send(Index index, Tick now) {
  Write& write = writes_[index];
  write.sectors_seen = 0;
  write.whole = true;
  write.parts.clear();
  ++writes_under_way_;
  if (!stalled_.empty() || !start_write(index, now)) stalled_.push_back({true, index});
}

/// Puts a block's lines into the first level, sector by sector; false when there is no slot for
/// one. What is there then stays, and the next attempt goes on from it.
bool Dimm::start_write(Index index, Tick now) {
  Write& write = writes_[index];
  if (write.group.lines == 0) {  // the Lazy cache has taken them over
    notify(write.group, now);
    --writes_under_way_;
    writes_.give_back(index);
    return true;
  }
  const Address block = geometry_.block_address(write.group.block);
  for (; write.sectors_seen < geometry_.sectors_per_block(); ++write.sectors_seen) {
    const std::uint64_t lines =
        write.group.lines >> (write.sectors_seen * geometry_.lines_per_sector()) &
        geometry_.all_lines();
    if (lines == 0) {
      write.whole = false;
      continue;
    }
    const Address at = block + (write.sectors_seen * geometry_.sector());
    Slot slot = rmw_.find(geometry_.entry_of(at));
    if (slot != BlockTable::none) {
      rmw_.touch(slot);
    } else {
      slot = claim(at);
      if (slot == BlockTable::none) return false;
    }
    write_sector(write, slot, at, lines, now);
  }
  if (!write.whole) ++merges_;

  Transfer transfer;
  transfer.kind = Transfer::Kind::write;
  transfer.at = block;
  transfer.into = index;
  events_.push(now + config_.rmw.latency + ait_latency_,
               {Event::Kind::translate, transfers_.take(transfer)});
  return true;
}

void Dimm::write_sector(Write& write, Slot slot, Address at, std::uint64_t lines, Tick now) {
  const Index index = geometry_.sector_of(slot, at);
  Sector& sector = sectors_[index];
  ++sector.busy;
  rmw_.pin(slot);
  const Slot home = middle_ ? middle_->find(at) : BlockTable::none;
  if (middle_) middle_->pin(home);
  write.parts.push_back({index, home});
  if (lines != geometry_.all_lines() && sector.ready != geometry_.all_lines() &&
      sector.complete.is_never()) {
    write.whole = false;
  }
  const DataHandle* data = &write.group.data[geometry_.line_in_block(at)];
  for (std::uint32_t line = 0; line < geometry_.lines_per_sector(); ++line) {
    if ((lines >> line & 1) != 0) rmw_data(index, line) = data[line];
  }
  sector.ready |= lines;
  serve_waiting(index, now + config_.rmw.latency);
}

void Dimm::written(Index transfer, Tick now) {
  const Transfer done = transfers_[transfer];
  transfers_.give_back(transfer);
  const Write& write = writes_[done.into];
  const WriteGroup& group = write.group;
  ++media_writes_;
  --writes_under_way_;
  writes_announced_ -= write.announced;

  if (data_in_use_) store_content(write);
  if (config_.fill != Fill::none) keep_in_dram(done.at, group.lines, false, now);
  notify(group, now);
  const std::uint64_t lines = group.lines;
  bool freed = false;
  for (const Write::Part& part : write.parts) freed |= written_part(part, now);
  writes_.give_back(done.into);
  if (freed && !stalled_.empty()) retry_stalled(now);
  count_wear(done.at, lines, now);
}

/// The media merged the lines with the old block, which the buffers now hold whole, unless
/// something else of that sector is still under way. Returns whether a slot can be replaced.
bool Dimm::written_part(const Write::Part& part, Tick now) {
  Sector& sector = sectors_[part.sector];
  const Slot slot = geometry_.slot_of(part.sector);
  rmw_.unpin(slot);
  if (--sector.busy == 0 && sector.ready != geometry_.all_lines()) {
    if (data_in_use_) load_data(part.sector);
    sector.ready = geometry_.all_lines();
    serve_waiting(part.sector, now);
  }
  if (middle_) {
    middle_->unpin(part.middle);
    Tick& complete =
        (*middle_)[middle_->sector_of(part.middle, sector_address(part.sector))].complete;
    complete = min(complete, now);
  }
  return !rmw_.pinned(slot);
}

/// Written is what the buffer holds by now, the group's lines or newer ones: when their block
/// has moved in between, writes to different partitions may overtake each other.
void Dimm::store_content(const Write& write) {
  for (const Write::Part& part : write.parts) {
    const Address at = sector_address(part.sector);
    const std::uint64_t lines =
        write.group.lines >> geometry_.line_in_block(at) & geometry_.all_lines();
    const std::uint64_t first = wear_.translate(at).value() / line_bytes;
    for (std::uint32_t line = 0; line < geometry_.lines_per_sector(); ++line) {
      if ((lines >> line & 1) != 0) content_[first + line] = rmw_data(part.sector, line);
    }
  }
}

DataHandle Dimm::durable(Address device) const {
  DataHandle data = 0;
  if (!data_in_use_) return data;
  if (lsq_.forwards(geometry_.block_of(device), geometry_.line_in_block(device), data)) return data;
  return lazy_ && lazy_->holds(device) ? lazy_->data(device) : behind_lazy(device);
}

DataHandle Dimm::behind_lazy(Address device) const {
  for (auto waiting = stalled_.rbegin(); waiting != stalled_.rend(); ++waiting) {
    if (!waiting->write) continue;
    const WriteGroup& group = writes_[waiting->index].group;
    if (group.block == geometry_.block_of(device) &&
        (group.lines >> geometry_.line_in_block(device) & 1) != 0) {
      return group.data[geometry_.line_in_block(device)];
    }
  }
  const Slot slot = rmw_.find(geometry_.entry_of(device));
  if (slot != BlockTable::none) {
    const Index sector = geometry_.sector_of(slot, device);
    const std::uint32_t line = geometry_.line_in_sector(device);
    if ((sectors_[sector].ready >> line & 1) != 0) {
      return rmw_data_[std::size_t{sector} * geometry_.lines_per_sector() + line];
    }
  }
  const auto found = content_.find(wear_.translate(device).value() / line_bytes);
  return found == content_.end() ? 0 : found->second;
}

void Dimm::notify(const WriteGroup& group, Tick now) {
  notices_owed_ -= static_cast<std::uint32_t>(group.notices.size());
  for (const MediaNotice& notice : group.notices) {
    notices_->push_back({now, notice.id, notice.address, Completion::Kind::media, 0});
  }
}

// ---- Wear levelling ----------------------------------------------------------------------

/// `lines` of a block have been written to the media.
void Dimm::count_wear(Address block, std::uint64_t lines, Tick now) {
  for (const MinorStall& minor : config_.wear.minor) {
    if (minor.interval == 0 || media_writes_ % minor.interval != 0) continue;
    ++minor_stalls_;
    media_.stall(now + minor.stall);
  }
  if (lazy_) admission_->count_write(block);
  if (const auto migration = wear_.count_write(block)) {
    migrate(*migration, now);
    if (lazy_) admit(block, lines, now);
  }
}

/// A block moves: it is read and written whole, the table's entries of its pages change, and what
/// asks for it waits.
void Dimm::migrate(const WearLeveler::Migration& migration, Tick now) {
  for (Bytes offset = 0; offset < config_.wear.block; offset += config_.media.access) {
    media_.read(none, migration.from + offset, now);
    media_.write(none, migration.to + offset, now);
  }
  if (data_in_use_) move_content(migration.from, migration.to);
  const Bytes pages = config_.wear.block / geometry_.page();
  for (Bytes page = 0; page < pages; ++page) {
    ++table_writes_;
    dram_send(posted, table_.line_of(migration.block * pages + page), Op::write, now);
  }
  events_.push(now + config_.wear.stall, {Event::Kind::migrated, migration.number});
}

void Dimm::move_content(Address from, Address to) {
  const std::uint64_t lines = config_.wear.block / line_bytes;
  for (std::uint64_t line = 0; line < lines; ++line) {
    const auto old = content_.find(from.value() / line_bytes + line);
    const std::uint64_t target = to.value() / line_bytes + line;
    if (old == content_.end()) {
      content_.erase(target);
    } else {
      const DataHandle data = old->second;
      content_.erase(old);
      content_[target] = data;
    }
  }
}

}  // namespace nearfar::sim::nvdimm

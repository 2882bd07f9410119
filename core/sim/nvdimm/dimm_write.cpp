#include "sim/nvdimm/dimm.h"

#include <algorithm>
#include <bit>

namespace nearfar::sim::nvdimm {

void Dimm::write_arrives(Index arrival, Tick now) {
  ++write_lines_;
  const Arrival arrived = arrivals_[arrival];
  arrivals_.give_back(arrival);
  const MediaNotice notice{arrived.request.id, arrived.request.address};
  lsq_.write(arrived.device.block(config_.rmw.entry),
             static_cast<std::uint32_t>(arrived.device.value() % config_.rmw.entry / line_bytes),
             arrived.request.data, arrived.request.tell_media ? &notice : nullptr, now);
  --writes_on_bus_;
  // The queue drains when the last line before the fence is here: a block whose lines are
  // still arriving must not leave in pieces.
  if (fenced_writes_ > 0 && --fenced_writes_ == 0) lsq_.drain_all();
}

void Dimm::drain(Tick now) {
  while (writes_under_way_ < config_.media.write_queue && lsq_.must_drain(now)) {
    const Index group = groups_.take_any();
    lsq_.take_oldest(groups_[group]);
    ++writes_under_way_;
    if (!stalled_.empty() || !start_write(group, now)) stalled_.push_back({true, group});
  }
}

bool Dimm::start_write(Index group, Tick now) {
  const WriteGroup& lines = groups_[group];
  Slot slot = rmw_.find(lines.block);
  const bool present = slot != BlockTable::none;
  if (present) {
    rmw_.touch(slot);
  } else {
    slot = rmw_.insert(lines.block);
    if (slot == BlockTable::none) return false;
    rmw_entries_[slot] = RmwEntry{};
  }
  rmw_.pin(slot);
  RmwEntry& entry = rmw_entries_[slot];
  const bool whole = lines.lines == all_lines_ ||
                     (present && (entry.ready == all_lines_ || !entry.complete.is_never()));
  if (!whole) ++merges_;
  for (std::uint32_t line = 0; line < lines_per_block_; ++line) {
    if ((lines.lines >> line & 1) != 0) rmw_data(slot, line) = lines.data[line];
  }
  entry.ready |= lines.lines;
  serve_waiting(slot, now + config_.rmw.latency);

  Transfer write;
  write.kind = Transfer::Kind::write;
  write.block = lines.block;
  write.rmw = slot;
  write.group = group;
  events_.push(now + config_.rmw.latency + config_.ait.latency,
               {Event::Kind::translate, transfers_.take(write)});
  return true;
}

void Dimm::written(Index transfer, Tick now) {
  const Transfer done = transfers_[transfer];
  transfers_.give_back(transfer);
  WriteGroup& group = groups_[done.group];
  ++media_writes_;
  --writes_under_way_;
  writes_announced_ -= static_cast<std::uint32_t>(std::popcount(group.lines));

  if (data_in_use_) {
    // Written is what the buffer holds by now, the group's lines or newer ones: when their block
    // has moved in between, writes to different partitions may overtake each other.
    const std::uint64_t first = media_address(done.block).value() / line_bytes;
    for (std::uint32_t line = 0; line < lines_per_block_; ++line) {
      if ((group.lines >> line & 1) != 0) content_[first + line] = rmw_data(done.rmw, line);
    }
  }
  if (config_.fill != Fill::none) keep_in_dram(done.block, group.lines, false, now);
  notify(group, now);
  groups_.give_back(done.group);

  // The media merged the lines with the old block, which the RMW buffer now holds whole,
  // unless a read of it is still under way.
  RmwEntry& entry = rmw_entries_[done.rmw];
  rmw_.unpin(done.rmw);
  if (!rmw_.pinned(done.rmw)) {
    if (entry.ready != all_lines_) {
      if (data_in_use_) load_block(done.rmw, done.block, entry.ready);
      entry.ready = all_lines_;
      serve_waiting(done.rmw, now);
    }
    if (!stalled_.empty()) retry_stalled(now);
  }
  count_wear(done.block, now);
}

void Dimm::notify(const WriteGroup& group, Tick now) {
  notices_owed_ -= static_cast<std::uint32_t>(group.notices.size());
  for (const MediaNotice& notice : group.notices) {
    notices_->push_back({now, notice.id, notice.address, Completion::Kind::media, 0});
  }
}

// ---- Wear levelling ----------------------------------------------------------------------

void Dimm::count_wear(std::uint64_t block, Tick now) {
  for (const MinorStall& minor : config_.wear.minor) {
    if (minor.interval == 0 || media_writes_ % minor.interval != 0) continue;
    ++minor_stalls_;
    media_.stall(now + minor.stall);
  }
  if (wear_.count_write(device_address(block))) migrate(block, now);
}

void Dimm::migrate(std::uint64_t block, Tick now) {
  const Address device = device_address(block);
  const std::uint64_t wear_block = device.block(config_.wear.block);
  const bool already = std::any_of(migrating_.begin(), migrating_.end(), [&](Index other) {
    return migrations_[other].wear_block == wear_block;
  });
  if (already) return;
  const WearLeveler::Move move = wear_.move(device);
  if (move.from == move.to) return;
  ++migrations_done_;

  const Address from(move.from * config_.wear.block);
  const Address to(move.to * config_.wear.block);
  for (Bytes offset = 0; offset < config_.wear.block; offset += config_.rmw.entry) {
    media_.read(none, from + offset, now);
    media_.write(none, to + offset, now);
  }
  if (data_in_use_) move_content(from, to);
  const Bytes pages = config_.wear.block / config_.ait.entry;
  for (Bytes page = 0; page < pages; ++page) {
    ++table_writes_;
    dram_send(posted, ait_.table_line(wear_block * pages + page), Op::write, now);
  }
  const Index migration = migrations_.take({wear_block, {}});
  migrating_.push_back(migration);
  events_.push(now + config_.wear.stall, {Event::Kind::unlock, migration});
}

bool Dimm::wait_for_migration(Index transfer) {
  const std::uint64_t wear_block =
      device_address(transfers_[transfer].block).block(config_.wear.block);
  for (const Index migration : migrating_) {
    if (migrations_[migration].wear_block != wear_block) continue;
    migrations_[migration].waiting.push_back(transfer);
    return true;
  }
  return false;
}

void Dimm::unlock(Index migration, Tick now) {
  const std::vector<Index> waiting = std::move(migrations_[migration].waiting);
  std::erase(migrating_, migration);
  migrations_.give_back(migration);
  for (const Index transfer : waiting) translated(transfer, now);
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

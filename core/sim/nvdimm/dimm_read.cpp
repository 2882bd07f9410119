#include "sim/nvdimm/dimm.h"

namespace nearfar::sim::nvdimm {

void Dimm::read_arrives(Index read, Tick now) {
  ++read_lines_;
  Read& arriving = reads_[read];
  if (!lsq_.empty() && lsq_.forwards(arriving.block, arriving.line, arriving.data)) {
    ++lsq_forwards_;
    respond(read, now + config_.lsq.latency);
    return;
  }
  // A read behind others that found no slot keeps its place.
  if (!stalled_.empty() || !look_up(read, now)) stalled_.push_back({false, read});
}

bool Dimm::look_up(Index read, Tick now) {
  const Read& arriving = reads_[read];
  Slot slot = rmw_.find(arriving.block);
  if (slot != BlockTable::none) {
    ++rmw_hits_;
    rmw_.touch(slot);
    serve(read, slot, now);
    return true;
  }
  slot = rmw_.insert(arriving.block);
  if (slot == BlockTable::none) return false;
  ++rmw_misses_;
  rmw_.pin(slot);
  RmwEntry& entry = rmw_entries_[slot];
  entry = RmwEntry{};
  entry.wanted = arriving.line;
  wait(read, entry);
  Transfer fetch;
  fetch.kind = Transfer::Kind::fetch;
  fetch.block = arriving.block;
  fetch.rmw = slot;
  events_.push(now + config_.lsq.latency + config_.rmw.latency + config_.ait.latency,
               {Event::Kind::translate, transfers_.take(fetch)});
  return true;
}

void Dimm::serve(Index read, Slot slot, Tick now) {
  Read& waiting = reads_[read];
  RmwEntry& entry = rmw_entries_[slot];
  const Tick looked_up = now + config_.lsq.latency + config_.rmw.latency;
  const bool ready = (entry.ready >> waiting.line & 1) != 0;
  if (ready || !entry.complete.is_never()) {
    waiting.data = rmw_data(slot, waiting.line);
    respond(read, ready ? looked_up : max(looked_up, entry.complete));
  } else {
    wait(read, entry);
  }
}

void Dimm::wait(Index read, RmwEntry& entry) {
  reads_[read].next = none;
  (entry.first_waiting == none ? entry.first_waiting : reads_[entry.last_waiting].next) = read;
  entry.last_waiting = read;
}

void Dimm::serve_waiting(Slot slot, Tick now) {
  RmwEntry& entry = rmw_entries_[slot];
  Index read = entry.first_waiting;
  entry.first_waiting = none;
  while (read != none) {
    Read& waiting = reads_[read];
    const Index next = waiting.next;
    if ((entry.ready >> waiting.line & 1) != 0 || !entry.complete.is_never()) {
      waiting.data = rmw_data(slot, waiting.line);
      respond(read, now);
    } else {
      wait(read, entry);
    }
    read = next;
  }
}

void Dimm::leave(Index read, Tick now, std::vector<Reply>& replies) {
  const Read& leaving = reads_[read];
  Tick& free = lane_free_[page_of(leaving.block) % lane_free_.size()];
  if (free > now) {
    respond(read, free);
    return;
  }
  free = now + config_.rmw_line;
  replies.push_back({now, leaving.tag, leaving.data});
  reads_.give_back(read);
}

void Dimm::fetched(Index transfer, Tick now) {
  const Transfer done = transfers_[transfer];
  transfers_.give_back(transfer);
  if (config_.fill != Fill::none) keep_in_dram(done.block, all_lines_, true, now);
  if (done.kind == Transfer::Kind::fill) return;
  if (config_.fill == Fill::page) fill_page(done.block, now);
  rmw_entries_[done.rmw].ready = all_lines_;
  release(done.rmw, now);
}

void Dimm::fill_page(std::uint64_t block, Tick now) {
  const std::uint64_t page = page_of(block);
  const Slot slot = ait_.find(page);
  if (slot == IndirectionBuffer::none || ait_.pending(slot)) return;
  for (std::uint32_t other = 0; other < blocks_per_page_; ++other) {
    if (!ait_.ask_for_block(slot, other) || ait_.holds_block(slot, other)) continue;
    Transfer fill;
    fill.kind = Transfer::Kind::fill;
    fill.block = page * blocks_per_page_ + other;
    media_.read(transfers_.take(fill), media_address(fill.block), now);
  }
}

void Dimm::release(Slot slot, Tick now) {
  rmw_.unpin(slot);
  if (!stalled_.empty()) retry_stalled(now);
}

void Dimm::retry_stalled(Tick now) {
  while (!stalled_.empty()) {
    const Stalled first = stalled_.front();
    const bool started = first.write ? start_write(first.index, now) : look_up(first.index, now);
    if (!started) return;
    stalled_.pop_front();
  }
}

void Dimm::load_block(Slot slot, std::uint64_t block, std::uint64_t except_lines) {
  const std::uint64_t first = media_address(block).value() / line_bytes;
  for (std::uint32_t line = 0; line < lines_per_block_; ++line) {
    if ((except_lines >> line & 1) != 0) continue;
    const auto found = content_.find(first + line);
    rmw_data(slot, line) = found == content_.end() ? 0 : found->second;
  }
}

}  // namespace nearfar::sim::nvdimm

#include <algorithm>

#include "sim/nvdimm/dimm.h"

namespace nearfar::sim::nvdimm {

// ---- Translation -------------------------------------------------------------------------

void Dimm::translate(Index transfer, Tick now) {
  if (!ait_) {
    ++table_reads_;
    events_.push(now + config_.table_latency, {Event::Kind::read_table, transfer});
    return;
  }
  const std::uint64_t page = geometry_.page_of(transfers_[transfer].at);
  Slot slot = ait_->find(page);
  if (slot != IndirectionBuffer::none) {
    ++ait_->hits;
    ait_->touch(slot);
    if (ait_->pending(slot)) {
      ait_->wait(slot, transfer);
    } else {
      translated(transfer, now);
    }
    return;
  }
  slot = ait_->insert(page);
  if (slot == IndirectionBuffer::none) {
    untranslated_.push_back(transfer);
    return;
  }
  ++ait_->misses;
  ++table_reads_;
  ait_->wait(slot, transfer);
  events_.push(now + config_.table_latency, {Event::Kind::read_table, slot});
}

void Dimm::table_arrived(Index waiting, Tick now) {
  if (!ait_) {
    translated(waiting, now);
    return;
  }
  woken_.clear();
  ait_->arrived(waiting, woken_);
  for (std::size_t i = 0; i < woken_.size(); ++i) translated(woken_[i], now);
  if (pretranslation_ && !pretranslation_->waiting.empty()) part_known(ait_->page(waiting), now);
  // The way that can be replaced now goes to the first that waits for one of its set, before
  // any other asks: two writes of a block must not change places.
  for (std::size_t i = untranslated_.size(); i > 0; --i) {
    const Index transfer = untranslated_.front();
    untranslated_.pop_front();
    translate(transfer, now);
  }
}

void Dimm::translated(Index transfer, Tick now) {
  if (wear_.waits(transfers_[transfer].at, transfer)) return;
  if (transfers_[transfer].kind == Transfer::Kind::write) {
    media_.write(transfer, wear_.translate(transfers_[transfer].at), now);
    return;
  }
  for (Index fetch = transfer; fetch != none;) {
    const Index next = transfers_[fetch].next;
    ask(fetch, now);
    fetch = next;
  }
}

/// Sends a fetch to where its data are.
void Dimm::ask(Index transfer, Tick now) {
  Transfer& fetch = transfers_[transfer];
  if (config_.fill != Fill::none) {
    const Slot slot = ait_->find(geometry_.page_of(fetch.at));
    if (slot != IndirectionBuffer::none &&
        ait_->holds_block(slot, geometry_.block_in_page(fetch.at))) {
      ++ait_->block_hits;
      fetch.page = slot;
      events_.push(now + config_.data_latency, {Event::Kind::read_buffered, transfer});
      return;
    }
  }
  read_media(transfer, now);
}

/// Reads a block unless as many of its page are read as one translation serves: then it waits.
void Dimm::read_media(Index transfer, Tick now) {
  Transfer& fetch = transfers_[transfer];
  if (page_reads_.limited()) {
    fetch.place = page_reads_.place_of(geometry_.page_of(fetch.at), now);
    Index& first = page_reads_.first_waiting(fetch.place);
    if (first != none || !page_reads_.has_room(fetch.place, now)) {
      fetch.next = none;
      Index& last = page_reads_.last_waiting(fetch.place);
      (first == none ? first : transfers_[last].next) = transfer;
      last = transfer;
      look_when_handed_over(fetch.place);
      return;
    }
    page_reads_.ask(fetch.place);
  }
  media_.read(transfer, wear_.translate(fetch.at), now);
}

void Dimm::look_when_handed_over(Index place) {
  const Tick at = page_reads_.next_look(place);
  if (!at.is_never()) events_.push(at, {Event::Kind::handed_over, place});
}

/// The last line of a block of that page can leave: others that wait may be read.
void Dimm::handed_over(Index place, Tick now) {
  page_reads_.look(place);
  Index& first = page_reads_.first_waiting(place);
  while (first != none && page_reads_.has_room(place, now)) {
    const Index transfer = first;
    first = transfers_[transfer].next;
    page_reads_.ask(place);
    media_.read(transfer, wear_.translate(transfers_[transfer].at), now);
  }
  look_when_handed_over(place);
}

void Dimm::media_started(const Media::Started& started, Tick now) {
  draw_lines(geometry_.lines_per_block(), now);
  if (started.tag == none) return;  // a migration's own traffic
  if (started.write) {
    events_.push(started.done, {Event::Kind::written, started.tag});
    return;
  }
  const Transfer& transfer = transfers_[started.tag];
  if (transfer.kind == Transfer::Kind::fetch) {
    complete_at(transfer.into, started.done);
  } else if (transfer.kind == Transfer::Kind::fetch_middle) {
    middle_complete_at(transfer.into, started.done);
  }
  events_.push(started.done, {Event::Kind::fetched, started.tag});
  if (transfer.place != none) {
    page_reads_.start(transfer.place,
                      started.done + (geometry_.lines_per_block() - 1) * config_.rmw_line);
    look_when_handed_over(transfer.place);
  }
}

void Dimm::fetched(Index transfer, Tick now) {
  const Transfer done = transfers_[transfer];
  transfers_.give_back(transfer);
  if (config_.fill != Fill::none) keep_in_dram(done.at, geometry_.all_block_lines(), true, now);
  if (done.kind == Transfer::Kind::fill) return;
  if (config_.fill == Fill::page) fill_page(done.at, now);
  if (done.kind == Transfer::Kind::fetch) {
    settle(done.into);
  } else {
    middle_arrived(done.into);
  }
  if (!stalled_.empty()) retry_stalled(now);
}

// ---- On-DIMM DRAM as a data buffer -------------------------------------------------------

void Dimm::fetch_from_dram(Index transfer, Tick now) {
  Transfer& fetch = transfers_[transfer];
  Bytes sector_bytes = geometry_.lines_per_sector() * line_bytes;
  std::uint32_t wanted = 0;
  if (fetch.kind == Transfer::Kind::fetch_middle) {
    sector_bytes = middle_->sector_bytes();
  } else {
    wanted = sectors_[fetch.into].wanted;
    if (data_in_use_) load_data(fetch.into);
  }
  const auto lines = static_cast<std::uint32_t>(sector_bytes / line_bytes);
  fetch.lines_left = geometry_.first_bits(lines);
  const Bytes offset = fetch.at.aligned_down(sector_bytes).value() % geometry_.page();
  for (std::uint32_t i = 0; i < lines; ++i) {
    const std::uint32_t line = (wanted + i) % lines;
    dram_send(std::uint64_t{transfer} << 8 | line,
              ait_->data_line(fetch.page, offset + line * line_bytes), Op::read, now);
  }
}

void Dimm::dram_line_arrived(Index transfer, std::uint32_t line, Tick now) {
  Transfer& fetch = transfers_[transfer];
  fetch.lines_left &= ~(std::uint64_t{1} << line);
  const bool last = fetch.lines_left == 0;
  if (fetch.kind == Transfer::Kind::fetch) {
    sectors_[fetch.into].ready |= std::uint64_t{1} << line;
    serve_waiting(fetch.into, now);
    if (last) settle(fetch.into);
  } else if (last) {
    middle_complete_at(fetch.into, now);
    middle_arrived(fetch.into);
  }
  if (!last) return;
  if (!stalled_.empty()) retry_stalled(now);
  transfers_.give_back(transfer);
}

void Dimm::keep_in_dram(Address at, std::uint64_t lines, bool new_block, Tick now) {
  const Slot slot = ait_->find(geometry_.page_of(at));
  if (slot == IndirectionBuffer::none || ait_->pending(slot)) return;
  if (new_block) {
    ait_->set_block(slot, geometry_.block_in_page(at));
  } else if (!ait_->holds_block(slot, geometry_.block_in_page(at))) {
    return;
  }
  const Bytes offset = geometry_.block_in_page(at) * geometry_.block();
  for (std::uint32_t line = 0; line < geometry_.lines_per_block(); ++line) {
    if ((lines >> line & 1) == 0) continue;
    dram_send(posted, ait_->data_line(slot, offset + line * line_bytes), Op::write, now);
  }
}

void Dimm::fill_page(Address at, Tick now) {
  const Slot slot = ait_->find(geometry_.page_of(at));
  if (slot == IndirectionBuffer::none || ait_->pending(slot)) return;
  const Address page = at.aligned_down(geometry_.page());
  for (std::uint32_t other = 0; other < ait_->blocks_per_page(); ++other) {
    if (!ait_->ask_for_block(slot, other) || ait_->holds_block(slot, other)) continue;
    Transfer fill;
    fill.kind = Transfer::Kind::fill;
    fill.at = page + (other * geometry_.block());
    media_.read(transfers_.take(fill), wear_.translate(fill.at), now);
  }
}

}  // namespace nearfar::sim::nvdimm

#include "sim/nvdimm/dimm.h"

namespace nearfar::sim::nvdimm {
namespace {

/// Marks the id of a table read: the rest is the indirection buffer's slot. Without it, and
/// unless nobody waits (posted), the id is a transfer and a line of its block.
constexpr std::uint64_t table_flag = std::uint64_t{1} << 62;

}  // namespace

Dimm::Dimm(const Config& config, std::uint8_t channel, dram::CommandLog* log)
    : config_(config),
      lines_per_block_(config.lines_per_block()),
      blocks_per_page_(config.blocks_per_page()),
      all_lines_(lines_per_block_ == 64 ? ~std::uint64_t{0}
                                        : (std::uint64_t{1} << lines_per_block_) - 1),
      lsq_(config.lsq, config.rmw.entry),
      rmw_(config.rmw.entries, config.rmw.ways, config.rmw.policy, config.seed + 1),
      rmw_entries_(config.rmw.entries),
      rmw_data_(config.rmw.entries * lines_per_block_),
      lane_free_(config.rmw_lanes),
      ait_(config),
      wear_(config.wear, config.media.capacity, config.seed + 3 + channel),
      media_(config.media, config.ait.entry, config.rmw.entry),
      dram_(config.dram, channel, log) {}

void Dimm::read(ReadTag tag, Address device, Tick at) {
  const Index index = reads_.take_any();
  Read& read = reads_[index];
  read.tag = tag;
  read.block = device.block(config_.rmw.entry);
  read.line = static_cast<std::uint32_t>(device.value() % config_.rmw.entry / line_bytes);
  read.data = 0;
  schedule(at, {Event::Kind::read_arrives, index});
}

void Dimm::write(const Request& request, Address device, Tick at) {
  ++writes_announced_;
  ++writes_on_bus_;
  if (request.data != 0) data_in_use_ = true;
  if (request.tell_media) ++notices_owed_;
  schedule(at, {Event::Kind::write_arrives, arrivals_.take({request, device})});
}

void Dimm::fence(std::uint32_t to_come, Tick now) {
  if (!config_.lsq.drain_on_fence) return;
  fenced_writes_ = writes_on_bus_ + to_come;
  if (fenced_writes_ != 0) return;
  lsq_.drain_all();
  schedule(now, {Event::Kind::drain, 0});
}

void Dimm::find_next() {
  next_ = min(min(events_.next(), dram_next_), media_.next_event());
  if (!lsq_.empty() && writes_under_way_ < config_.media.write_queue) {
    next_ = min(next_, lsq_.next_aged());
  }
}

Tick Dimm::advance(Tick until, std::vector<Reply>& replies, Sink& notices) {
  notices_ = &notices;
  const std::size_t notices_before = notices.size();
  Tick now = until;
  while (next_ <= until && replies.empty() && notices.size() == notices_before) {
    now = next_;
    if (dram_next_ <= now) {
      dram_.advance(now, dram_sink_);
      dram_completions(now);
      dram_next_ = dram_.next_event();
    }
    if (media_.next_event() <= now) {
      media_.advance(now, started_);
      for (std::size_t i = 0; i < started_.size(); ++i) media_started(started_[i]);
      started_.clear();
    }
    while (events_.next() <= now) handle(events_.pop(), now, replies);
    if (!lsq_.empty()) drain(now);
    find_next();
  }
  return now;
}

void Dimm::handle(const Event& event, Tick now, std::vector<Reply>& replies) {
  switch (event.kind) {
    case Event::Kind::read_arrives:
      read_arrives(event.index, now);
      break;
    case Event::Kind::write_arrives:
      write_arrives(event.index, now);
      break;
    case Event::Kind::respond:
      leave(event.index, now, replies);
      break;
    case Event::Kind::translate:
      translate(event.index, now);
      break;
    case Event::Kind::read_table:
      dram_send(table_flag | event.index, ait_.table_line(ait_.page(event.index)), Op::read, now);
      break;
    case Event::Kind::read_buffered:
      fetch_from_dram(event.index, now);
      break;
    case Event::Kind::fetched:
      fetched(event.index, now);
      break;
    case Event::Kind::written:
      written(event.index, now);
      break;
    case Event::Kind::unlock:
      unlock(event.index, now);
      break;
    case Event::Kind::drain:
      break;  // advance() drains after every event
  }
}

void Dimm::dram_send(std::uint64_t id, Address address, Op op, Tick now) {
  Request request;
  request.id = id;
  request.address = address;
  request.op = op;
  if (!dram_backlog_.empty() || !dram_.try_send(request, now).accepted) {
    dram_backlog_.push_back(request);
  } else {
    dram_next_ = dram_.next_event();
  }
}

void Dimm::dram_completions(Tick now) {
  for (std::size_t i = 0; i < dram_sink_.size(); ++i) {
    const Completion completion = dram_sink_[i];
    if (completion.kind != Completion::Kind::done || (completion.id & posted) != 0) continue;
    if ((completion.id & table_flag) != 0) {
      table_arrived(static_cast<Slot>(completion.id & ~table_flag), now);
    } else {
      dram_line_arrived(static_cast<Index>(completion.id >> 8),
                        static_cast<std::uint32_t>(completion.id & 0xff), now);
    }
  }
  dram_sink_.clear();
  while (!dram_backlog_.empty() && dram_.try_send(dram_backlog_.front(), now).accepted) {
    dram_backlog_.pop_front();
  }
}

// ---- Translation -------------------------------------------------------------------------

void Dimm::translate(Index transfer, Tick now) {
  const std::uint64_t page = page_of(transfers_[transfer].block);
  Slot slot = ait_.find(page);
  if (slot != IndirectionBuffer::none) {
    ++ait_.hits;
    ait_.touch(slot);
    if (ait_.pending(slot)) {
      ait_.wait(slot, transfer);
    } else {
      translated(transfer, now);
    }
    return;
  }
  slot = ait_.insert(page);
  if (slot == IndirectionBuffer::none) {
    untranslated_.push_back(transfer);
    return;
  }
  ++ait_.misses;
  ++table_reads_;
  ait_.wait(slot, transfer);
  events_.push(now + config_.table_latency, {Event::Kind::read_table, slot});
}

void Dimm::table_arrived(Slot slot, Tick now) {
  woken_.clear();
  ait_.arrived(slot, woken_);
  for (std::size_t i = 0; i < woken_.size(); ++i) translated(woken_[i], now);
  // The way that can be replaced now goes to the first that waits for one of its set, before
  // anybody else asks: two writes of a block must not change places.
  for (std::size_t i = untranslated_.size(); i > 0; --i) {
    const Index transfer = untranslated_.front();
    untranslated_.pop_front();
    translate(transfer, now);
  }
}

void Dimm::translated(Index transfer, Tick now) {
  if (!migrating_.empty() && wait_for_migration(transfer)) return;
  const Transfer& under_way = transfers_[transfer];
  if (under_way.kind == Transfer::Kind::write) {
    media_.write(transfer, media_address(under_way.block), now);
    return;
  }
  if (config_.fill != Fill::none) {
    const Slot slot = ait_.find(page_of(under_way.block));
    const auto block_in_page = static_cast<std::uint32_t>(under_way.block % blocks_per_page_);
    if (slot != IndirectionBuffer::none && ait_.holds_block(slot, block_in_page)) {
      ++ait_.block_hits;
      transfers_[transfer].page = slot;
      events_.push(now + config_.data_latency, {Event::Kind::read_buffered, transfer});
      return;
    }
  }
  media_.read(transfer, media_address(under_way.block), now);
}

void Dimm::media_started(const Media::Started& started) {
  if (started.tag == none) return;  // a migration's own traffic
  if (started.write) {
    events_.push(started.done, {Event::Kind::written, started.tag});
    return;
  }
  const Transfer& transfer = transfers_[started.tag];
  if (transfer.kind == Transfer::Kind::fetch) {
    RmwEntry& entry = rmw_entries_[transfer.rmw];
    entry.complete = started.done;
    if (data_in_use_) load_block(transfer.rmw, transfer.block, entry.ready);
    serve_waiting(transfer.rmw, started.done);
  }
  events_.push(started.done, {Event::Kind::fetched, started.tag});
}

// ---- On-DIMM DRAM as a data buffer -------------------------------------------------------

void Dimm::fetch_from_dram(Index transfer, Tick now) {
  Transfer& fetch = transfers_[transfer];
  fetch.lines_left = all_lines_;
  const RmwEntry& entry = rmw_entries_[fetch.rmw];
  if (data_in_use_) load_block(fetch.rmw, fetch.block, entry.ready);
  const Bytes offset = fetch.block % blocks_per_page_ * config_.rmw.entry;
  for (std::uint32_t i = 0; i < lines_per_block_; ++i) {
    const std::uint32_t line = (entry.wanted + i) % lines_per_block_;
    dram_send(std::uint64_t{transfer} << 8 | line,
              ait_.data_line(fetch.page, offset + line * line_bytes), Op::read, now);
  }
}

void Dimm::dram_line_arrived(Index transfer, std::uint32_t line, Tick now) {
  Transfer& fetch = transfers_[transfer];
  fetch.lines_left &= ~(std::uint64_t{1} << line);
  rmw_entries_[fetch.rmw].ready |= std::uint64_t{1} << line;
  serve_waiting(fetch.rmw, now);
  if (fetch.lines_left == 0) {
    release(fetch.rmw, now);
    transfers_.give_back(transfer);
  }
}

void Dimm::keep_in_dram(std::uint64_t block, std::uint64_t lines, bool new_block, Tick now) {
  const Slot slot = ait_.find(page_of(block));
  if (slot == IndirectionBuffer::none || ait_.pending(slot)) return;
  const auto block_in_page = static_cast<std::uint32_t>(block % blocks_per_page_);
  if (new_block) {
    ait_.set_block(slot, block_in_page);
  } else if (!ait_.holds_block(slot, block_in_page)) {
    return;
  }
  const Bytes offset = block_in_page * config_.rmw.entry;
  for (std::uint32_t line = 0; line < lines_per_block_; ++line) {
    if ((lines >> line & 1) == 0) continue;
    dram_send(posted, ait_.data_line(slot, offset + line * line_bytes), Op::write, now);
  }
}

void Dimm::register_counters(Counters& counters, const std::string& prefix) const {
  counters.add(prefix + "read_lines", read_lines_);
  counters.add(prefix + "write_lines", write_lines_);
  counters.add(prefix + "lsq.forwards", lsq_forwards_);
  lsq_.register_counters(counters, prefix + "lsq.");
  counters.add(prefix + "rmw.hits", rmw_hits_);
  counters.add(prefix + "rmw.misses", rmw_misses_);
  ait_.register_counters(counters, prefix + "ait.");
  counters.add(prefix + "table.reads", table_reads_);
  counters.add(prefix + "table.writes", table_writes_);
  media_.register_counters(counters, prefix + "media.");
  counters.add(prefix + "media.writes", media_writes_);
  counters.add(prefix + "media.merges", merges_);
  counters.add(prefix + "wear.migrations", migrations_done_);
  counters.add(prefix + "wear.minor_stalls", minor_stalls_);
  dram_.register_counters(counters, prefix + "dram.");
}

}  // namespace nearfar::sim::nvdimm

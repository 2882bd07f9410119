#include <bit>

#include "sim/nvdimm/dimm.h"

/// What a DIMM with a Lazy cache does between its load-store queue and its RMW buffer.

namespace nearfar::sim::nvdimm {

/// Whether the Lazy cache takes all of what leaves the load-store queue next. It does not wait for
/// the media then.
bool Dimm::absorbs_oldest() const {
  const WriteGroup& group = lsq_.oldest();
  const Address block = geometry_.block_address(group.block);
  for (std::uint32_t line = 0; line < geometry_.lines_per_block(); ++line) {
    if ((group.lines >> line & 1) != 0 && !lazy_->holds(block + line * line_bytes)) return false;
  }
  return true;
}

/// Takes the lines that the Lazy cache holds out of what leaves the load-store queue.
void Dimm::absorb(Write& write, Tick now) {
  WriteGroup& group = write.group;
  const Address block = geometry_.block_address(group.block);
  admission_->count_sent(block);
  const std::uint64_t before = lazy_->accesses();
  for (std::uint32_t line = 0; line < geometry_.lines_per_block(); ++line) {
    const Address at = block + line * line_bytes;
    if ((group.lines >> line & 1) == 0 || !lazy_->holds(at)) continue;
    const Tick done = lazy_->write(at, group.data[line], now);
    group.lines &= ~(std::uint64_t{1} << line);
    --write.announced;
    events_.push(done, {Event::Kind::absorbed, 1});
  }
  draw_lazy(before, now);
  if (group.lines == 0) admission_->count_absorbed();
}

/// Answers a read from the Lazy cache: whether that has its line.
bool Dimm::lazy_serves(Index read, Tick now) {
  const Address line = reads_[read].line;
  if (!lazy_->holds(line)) return false;
  reads_[read].data = lazy_->data(line);
  const std::uint64_t before = lazy_->accesses();
  respond(read, lazy_->read(line, now + config_.lsq.latency));
  draw_lazy(before, now);
  return true;
}

/// A write of `lines` of a block has made it move. They are held from now on if its block is
/// written often enough.
void Dimm::admit(Address block, std::uint64_t lines, Tick now) {
  if (!admission_->judge(block)) return;
  const std::uint64_t before = lazy_->accesses();
  for (std::uint32_t line = 0; line < geometry_.lines_per_block(); ++line) {
    const Address at = block + line * line_bytes;
    if ((lines >> line & 1) == 0 || lazy_->holds(at)) continue;
    const auto gone = lazy_->admit(at, now);
    const Address entry = at.aligned_down(lazy_->entry());
    for (Bytes offset = 0; offset < lazy_->entry(); offset += line_bytes) {
      take_over(entry + offset);
    }
    std::erase_if(stalled_, [&](const Stalled& waiting) {
      return !waiting.write && lazy_serves(waiting.index, now);
    });
    watch_age(lazy_->slot_of(at));
    if (gone) write_back(*gone, now);
  }
  draw_lazy(before, now);
}

/// Copies a line into the Lazy cache as it is behind it. A write that still waits to enter the RMW
/// buffer gives its line up: it would come later than those that the cache takes from now on. (So
/// do reads that wait behind such writes: when the line has left again, it may be behind them.)
void Dimm::take_over(Address line) {
  lazy_->fill(line, behind_lazy(line), false);
  const std::uint64_t bit = std::uint64_t{1} << geometry_.line_in_block(line);
  for (const Stalled& waiting : stalled_) {
    if (!waiting.write) continue;
    Write& write = writes_[waiting.index];
    if (write.group.block != geometry_.block_of(line) || (write.group.lines & bit) == 0) continue;
    if (geometry_.line_in_block(line) / geometry_.lines_per_sector() < write.sectors_seen) continue;
    lazy_->fill(line, write.group.data[geometry_.line_in_block(line)], true);
    write.group.lines &= ~bit;
    if (write.announced > 0) {
      --write.announced;
      --writes_announced_;
    }
    if (write.group.lines == 0) admission_->count_absorbed();
  }
}

/// What was written of an entry that has left goes on to the media, past the bound on writes under
/// way: it has no other place.
void Dimm::write_back(const LazyCache::Gone& gone, Tick now) {
  if (gone.dirty == 0) return;
  admission_->count_write_back();
  const Index index = writes_.take_any();
  Write& write = writes_[index];
  const std::uint32_t first = geometry_.line_in_block(gone.at);
  write.group.block = geometry_.block_of(gone.at);
  write.group.lines = gone.dirty << first;
  write.group.data.resize(geometry_.lines_per_block());
  write.group.notices.clear();
  for (std::size_t line = 0; line < gone.data.size(); ++line) {
    write.group.data[first + line] = gone.data[line];
  }
  write.announced = 0;
  send(index, now);
}

void Dimm::watch_age(Index slot) {
  const Tick due = lazy_->watch(slot);
  if (!due.is_never()) events_.push(due, {Event::Kind::lazy_aged, slot});
}

void Dimm::lazy_aged(Index slot, Tick now) {
  if (const auto gone = lazy_->look(slot, now)) {
    write_back(*gone, now);
  } else {
    watch_age(slot);
  }
}

}  // namespace nearfar::sim::nvdimm

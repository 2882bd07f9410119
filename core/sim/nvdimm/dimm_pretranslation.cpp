#include <algorithm>

#include "sim/nvdimm/dimm.h"

/// The DIMM's way to the entry that says where a pointer leads.
namespace nearfar::sim::nvdimm {

void Dimm::read_pointer(ReadTag tag, Address pointer, bool line, Tick at) {
  Pretranslation& here = *pretranslation_;
  ++here.reads;
  const Index index = reads_.take_any();
  Read& read = reads_[index];
  read.tag = tag;
  read.line = pointer.aligned_down(line_bytes);
  read.data = 0;
  read.marked = read.looking = true;
  read.left = !line;
  if (line) schedule(at, {Event::Kind::read_arrives, index});
  schedule(at + here.rlb_latency,
           {Event::Kind::look_up_pointer, here.look_ups.take({pointer, index})});
}

void Dimm::learn(Address pointer, std::uint64_t frame, Tick at) {
  schedule(at, {Event::Kind::learned, pretranslation_->told.take({pointer, frame})});
}

void Dimm::handle_pointer(const Event& event, Tick now) {
  switch (event.kind) {
    case Event::Kind::look_up_pointer:
      look_up_pointer(event.index, now);
      break;
    case Event::Kind::find_part:
      find_part(event.index, now);
      break;
    case Event::Kind::read_part:
      dram_send(table_flag | pointer_flag | part_flag | event.index,
                table_.line_of(geometry_.page_of(pretranslation_->look_ups[event.index].pointer)),
                Op::read, now);
      break;
    default: {
      Pretranslation& here = *pretranslation_;
      const PointerBuffer::Leaving told = here.told[event.index];
      here.told.give_back(event.index);
      ++here.updates;
      if (const auto leaving = here.buffer.put(told.pointer, told.frame, true)) {
        keep_pointer(*leaving, now);
      }
      break;
    }
  }
}

void Dimm::look_up_pointer(Index look_up, Tick now) {
  Pretranslation& here = *pretranslation_;
  if (const auto frame = here.buffer.find(here.look_ups[look_up].pointer)) {
    ++here.buffer_hits;
    looked_up(look_up, *frame, now);
    return;
  }
  // As far as the read itself needs to be translated.
  const Tick to_translation = config_.lsq.latency + config_.rmw.latency + ait_latency_;
  const Tick left = to_translation - min(to_translation, here.rlb_latency);
  events_.push(now + left, {Event::Kind::find_part, look_up});
}

/// The page's translation says where its part of the table is. A read that misses the RMW buffer
/// brings the translation; for one that hits, it is read for the part alone.
void Dimm::find_part(Index look_up, Tick now) {
  Pretranslation& here = *pretranslation_;
  if (ait_) {
    const Slot slot = ait_->find(geometry_.page_of(here.look_ups[look_up].pointer));
    if (slot != IndirectionBuffer::none) {
      if (ait_->pending(slot)) {
        here.waiting.push_back(look_up);
      } else {
        read_part(look_up, now);
      }
      return;
    }
  }
  ++here.part_reads;
  events_.push(now + config_.table_latency, {Event::Kind::read_part, look_up});
}

/// A translation has come.
void Dimm::part_known(std::uint64_t page, Tick now) {
  std::vector<Index>& waiting = pretranslation_->waiting;
  const auto mine = [&](Index look_up) {
    return geometry_.page_of(pretranslation_->look_ups[look_up].pointer) == page;
  };
  for (const Index look_up : waiting) {
    if (mine(look_up)) read_part(look_up, now);
  }
  std::erase_if(waiting, mine);
}

/// Reads the pointer's line of its page's part, if the page has one.
void Dimm::read_part(Index look_up, Tick now) {
  Pretranslation& here = *pretranslation_;
  const Address pointer = here.look_ups[look_up].pointer;
  const PointerTable::Slot part = here.table.part_of(pointer);
  if (part == PointerTable::none) {
    looked_up(look_up, no_frame, now);
    return;
  }
  ++here.table_reads;
  dram_send(table_flag | pointer_flag | look_up, here.table.line_of(part, pointer), Op::read, now);
}

/// A line that was read for a look-up: of the indirection table, or of the part.
void Dimm::pointer_arrived(std::uint64_t id, Tick now) {
  Pretranslation& here = *pretranslation_;
  const auto look_up = static_cast<Index>(id & ~(table_flag | pointer_flag | part_flag));
  if ((id & part_flag) != 0) {
    read_part(look_up, now);
    return;
  }
  const Address pointer = here.look_ups[look_up].pointer;
  const std::optional<std::uint64_t> frame = here.table.find(pointer);
  if (frame) {
    ++here.table_hits;
    // The processor may have told of it meanwhile: that is newer.
    if (const auto newer = here.buffer.find(pointer)) {
      looked_up(look_up, *newer, now);
      return;
    }
    if (const auto leaving = here.buffer.put(pointer, *frame, false)) keep_pointer(*leaving, now);
  }
  looked_up(look_up, frame.value_or(no_frame), now);
}

void Dimm::looked_up(Index look_up, std::uint64_t frame, Tick now) {
  const Index index = pretranslation_->look_ups[look_up].read;
  pretranslation_->look_ups.give_back(look_up);
  Read& read = reads_[index];
  read.frame = frame;
  read.looking = false;
  if (read.left) respond(index, now);
}

/// Whether a marked read that is ready to leave has to wait for its look-up.
bool Dimm::held_back(Index index) {
  Read& read = reads_[index];
  if (read.looking) read.left = true;
  return read.looking;
}

/// Writes an entry that leaves the RLB to the table. Nothing waits for that: what it costs is the
/// accesses to the DRAM. A page without a part takes one, which is written to the page's entry of
/// the indirection table, and so is the loss to that of the page that had it.
void Dimm::keep_pointer(const PointerBuffer::Leaving& leaving, Tick now) {
  Pretranslation& here = *pretranslation_;
  const std::uint64_t page = geometry_.page_of(leaving.pointer);
  if (!ait_ || ait_->find(page) == IndirectionBuffer::none) {
    ++here.part_reads;
    dram_send(posted, table_.line_of(page), Op::read, now);
  }
  const PointerTable::Change change = here.table.put(leaving.pointer, leaving.frame);
  ++here.table_writes;
  dram_send(posted, here.table.line_of(change.part, leaving.pointer), Op::write, now);
  if (!change.new_part) return;
  ++here.parts_taken;
  dram_send(posted, table_.line_of(page), Op::write, now);
  if (!change.lost_page) return;
  ++here.parts_lost;
  dram_send(posted, table_.line_of(*change.lost_page), Op::write, now);
}

}  // namespace nearfar::sim::nvdimm

#include <bit>

#include "sim/imc/near_memory.h"

namespace nearfar::sim::imc {
namespace {

constexpr std::uint64_t bit(std::uint32_t block) { return std::uint64_t{1} << block; }

constexpr std::uint64_t all(std::uint32_t blocks) { return ~std::uint64_t{0} >> (64 - blocks); }

/// Calls `visit(block)` for each bit that is set, from `first` upwards and round.
template <typename Visit>
void each(std::uint64_t blocks, std::uint32_t first, Visit visit) {
  for (std::uint64_t left = std::rotr(blocks, static_cast<int>(first)); left != 0;
       left &= left - 1) {
    visit((static_cast<std::uint32_t>(std::countr_zero(left)) + first) % 64);
  }
}

}  // namespace

/// Decides what becomes of the request, and reads what tells the hardware so.
void NearMemory::start(Index index, std::uint32_t way, Tick now) {
  Flight& flight = flights_[index];
  const bool write = flight.request.op == Op::write && !flight.prefetch;
  const bool hit = way != NearDirectory::none;
  flight.victim_blocks = 0;
  flight.ready = 0;
  flight.victims = 0;
  flight.tag_changes = false;
  if (hit) {
    flight.outcome = write ? Case::write_hit : Case::read_hit;
    flight.way = way;
    directory_.touch(flight.line, way);
  } else {
    flight.outcome = write ? Case::write_miss : Case::read_miss;
    if (write || config_.inclusive) replace(flight);
  }
  if (write && config_.write_back) {
    const std::uint64_t blocks =
        config_.dirty == NearDirty::line ? all(blocks_) : bit(flight.block);
    const bool changed = directory_.mark_dirty(flight.line, flight.way, blocks) != 0;
    if (hit) flight.tag_changes = changed;
  }
  count(flight);
  const bool in_data = tag_lines_ != 0;
  flight.probes = in_data ? tag_lines_ : config_.ways;
  flight.pending += flight.probes;
  counters_.probes += flight.probes;
  for (std::uint32_t i = 0, probes = flight.probes; i < probes; ++i) {
    Request request;
    request.id = Tag{Role::probe, 0, index, 0}.id();
    request.address = in_data ? tags_address(flight, i) : near_address(flight, i, flight.block);
    to_near_.send(request, now);
  }
}

/// Gives the line a way, whose victim will be written back.
[[gnu::noinline]] void NearMemory::replace(Flight& flight) {
  const NearDirectory::Victim victim = directory_.insert(flight.line);
  flight.way = victim.way;
  flight.victim_line = victim.line;
  flight.victim_blocks = victim.dirty;
  flight.tag_changes = true;
  if (data_in_use_ && victim.valid) {
    each(all(blocks_) & ~victim.dirty, 0,
         [&](std::uint32_t block) { content_.erase(victim.line * blocks_ + block); });
  }
}

void NearMemory::count(const Flight& flight) {
  if (flight.prefetch) {
    ++counters_.prefetches;
    if (flight.outcome == Case::read_miss) ++counters_.prefetch_misses;
    return;
  }
  switch (flight.outcome) {
    case Case::read_hit:
      ++counters_.read_hits;
      break;
    case Case::write_hit:
      ++counters_.write_hits;
      break;
    case Case::read_miss:
      ++counters_.read_misses;
      break;
    case Case::write_miss:
      ++counters_.write_misses;
      break;
    case Case::waiting:
    case Case::direct:
      break;
  }
}

void NearMemory::probed(Index index, Tick now, Sink& sink) {
  if (--flights_[index].probes > 0) return;
  if (config_.latency == Tick{}) {
    looked_up(index, now, sink);
  } else {
    events_.push(was_looked_up, now + config_.latency, index);
  }
}

void NearMemory::looked_up(Index index, Tick now, Sink& sink) {
  const Flight& flight = flights_[index];
  switch (flight.outcome) {
    case Case::read_hit:
      if (flight.prefetch) break;
      if (tag_lines_ == 0) {
        answer(index, stored(flight.line, flight.block), now, sink);
      } else {
        send(Role::data, index, flight.block, near_address(flight, flight.way, flight.block), now);
      }
      break;
    case Case::write_hit:
      write(index, now);
      break;
    case Case::read_miss:
    case Case::write_miss:
      miss(index, now);
      break;
    case Case::waiting:
    case Case::direct:
      break;
  }
  over(index, now, sink);
}

void NearMemory::miss(Index index, Tick now) {
  const Flight flight = flights_[index];
  each(flight.victim_blocks, 0, [&](std::uint32_t block) {
    // The look-up has read the block that was asked for, with its tag.
    if (tag_lines_ == 0 && block == flight.block) return write_victim(index, block, now);
    ++flights_[index].victims;
    send(Role::victim, index, block, near_address(flight, flight.way, block), now);
  });
  fetch(index, now);
  fill(index, now);
  if (config_.prefetch_next && flight.outcome == Case::read_miss && !flight.prefetch) {
    prefetch_after(flight.line, now);
  }
}

/// Asks far memory for what of the line is not being written, the block that is wanted first.
void NearMemory::fetch(Index index, Tick now) {
  const Flight& flight = flights_[index];
  const std::uint32_t first = flight.block;
  const std::uint64_t line = flight.line;
  std::uint64_t blocks = all(blocks_);
  if (flight.outcome == Case::read_miss && !config_.inclusive) blocks = bit(first);
  if (flight.outcome == Case::write_miss && !config_.write_fetch) {
    blocks &= ~bit(first);
    flights_[index].ready = bit(first);
  }
  each(blocks, first, [&](std::uint32_t block) {
    send(Role::fetch, index, block, far_address(line, block), now);
  });
}

void NearMemory::write_victim(Index index, std::uint32_t block, Tick now) {
  const std::uint64_t line = flights_[index].victim_line;
  send(Role::write_back, index, block, far_address(line, block), now, stored(line, block));
  if (data_in_use_) content_.erase(line * blocks_ + block);
}

/// A block has come from far memory.
void NearMemory::arrived(Index index, std::uint32_t block, DataHandle data, Tick now, Sink& sink) {
  Flight& flight = flights_[index];
  const bool kept = flight.outcome == Case::write_miss || config_.inclusive;
  if (kept) {
    store(flight.line, block, data);
    flight.ready |= bit(block);
  }
  if (block == flight.block && flight.outcome == Case::read_miss && !flight.prefetch) {
    answer(index, data, now, sink);
  }
  if (kept) fill(index, now);
}

/// Writes what has come into near memory, once nothing that it replaces has still to be read.
void NearMemory::fill(Index index, Tick now) {
  const Flight flight = flights_[index];
  if (flight.victims > 0) return;
  flights_[index].ready = 0;
  if (flight.tag_changes && tag_lines_ != 0) {
    flights_[index].tag_changes = false;
    send(Role::update, index, 0, tags_address(flight, flight.way / 8), now);
  }
  each(flight.ready, flight.block, [&](std::uint32_t block) {
    const bool claim = flight.outcome == Case::write_miss && block == flight.block;
    send(claim ? Role::claim : Role::fill, index, block, near_address(flight, flight.way, block),
         now);
  });
}

/// Writes the caller's data, wherever they have to go.
void NearMemory::write(Index index, Tick now) {
  const Flight flight = flights_[index];
  const Request& request = flight.request;
  store(flight.line, flight.block, request.data);
  Index notice = 0;
  if (request.tell_media) notice = 1 + notices_.take({request.id, request.address, request.data});
  if (flight.tag_changes && tag_lines_ != 0) {
    flights_[index].tag_changes = false;
    send(Role::update, index, 0, tags_address(flight, flight.way / 8), now);
  }
  send(Role::write, index, flight.block, near_address(flight, flight.way, flight.block), now, 0,
       config_.write_back ? notice : 0);
  if (!config_.write_back) {
    send(Role::through, index, flight.block, far_address(flight.line, flight.block), now,
         request.data, notice);
  }
}

void NearMemory::prefetch_after(std::uint64_t line, Tick now) {
  if ((line + 2) * config_.line > cached_bytes_ || prefetches_ == most_prefetches_) return;
  ++prefetches_;
  const Index index = flights_.take_any();
  Flight& flight = flights_[index];
  flight.request = {};
  flight.line = line + 1;
  flight.set = directory_.set_of(line + 1);
  flight.block = 0;
  flight.outcome = Case::waiting;
  flight.prefetch = true;
  flight.pending = 1;
  enter(index, now);
}

/// Makes an access. The request waits for a read's data, for a claim to be in the DRAM, and for
/// any other write until it is taken.
void NearMemory::send(Role role, Index index, std::uint32_t block, Address address, Tick now,
                      DataHandle data, Index notice) {
  const Purpose& purpose = purpose_of(role);
  ++(counters_.*purpose.counter);
  Request request;
  request.id = Tag{role, static_cast<std::uint8_t>(block), index, notice}.id();
  request.address = address;
  request.op = purpose.op;
  request.tell_media = notice != 0 || role == Role::claim;
  request.data = data;
  const bool taken = (purpose.far ? to_far_ : to_near_).send(request, now);
  if (purpose.far) far_next_ = far_->next_event();
  if (!taken || purpose.awaited) ++flights_[index].pending;
}

/// By role, in the order of the enumeration.
const NearMemory::Purpose& NearMemory::purpose_of(Role role) {
  static constexpr Purpose purposes[] = {
      {Op::read, false, true, &NearCounters::probes},
      {Op::read, false, true, &NearCounters::data_reads},
      {Op::read, false, true, &NearCounters::victim_reads},
      {Op::read, true, true, &NearCounters::fetches},
      {Op::write, false, false, &NearCounters::fills},
      {Op::write, false, true, &NearCounters::claims},
      {Op::write, false, false, &NearCounters::tag_writes},
      {Op::write, false, false, &NearCounters::data_writes},
      {Op::write, true, false, &NearCounters::write_backs},
      {Op::write, true, false, &NearCounters::write_throughs},
  };
  return purposes[static_cast<std::uint8_t>(role)];
}

void NearMemory::over(Index index, Tick now, Sink& sink) {
  if (--flights_[index].pending > 0) return;
  leave(index, now);
  const bool prefetch = flights_[index].prefetch;
  const std::uint32_t gate = flights_[index].gate;
  flights_.give_back(index);
  if (prefetch) {
    --prefetches_;
    return;
  }
  --gates_[gate].used;
  if (!gates_[gate].waiting.empty()) wake_waiting(gate, now, sink);
}

void NearMemory::store(std::uint64_t line, std::uint32_t block, DataHandle data) {
  if (data != 0) data_in_use_ = true;
  if (data_in_use_) content_[line * blocks_ + block] = data;
}

DataHandle NearMemory::content_of(std::uint64_t line, std::uint32_t block) const {
  const auto found = content_.find(line * blocks_ + block);
  return found == content_.end() ? 0 : found->second;
}

Address NearMemory::near_address(const Flight& flight, std::uint32_t way,
                                 std::uint32_t block) const {
  return Address((flight.set * config_.ways + way) * config_.line + block * line_bytes);
}

Address NearMemory::far_address(std::uint64_t line, std::uint32_t block) const {
  return Address(line * config_.line + block * line_bytes);
}

/// The tags of eight ways fill a line of their own, and small sets share one.
Address NearMemory::tags_address(const Flight& flight, std::uint32_t line) const {
  const std::uint64_t first = flight.set * config_.ways * 8 / line_bytes;
  return Address(config_.capacity + (first + line) * line_bytes);
}

}  // namespace nearfar::sim::imc

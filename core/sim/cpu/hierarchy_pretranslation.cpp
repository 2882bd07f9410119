#include <algorithm>
#include <utility>

#include "sim/cpu/hierarchy.h"

/// Pre-translation: reads by translations that came with data from the DIMM, the walks that check
/// them, and what the DIMM is told.
namespace nearfar::sim::cpu {
namespace {

constexpr std::uint64_t small_pages_in_huge = Tlb::huge_page / Tlb::small_page;

bool is_marked(const Place& place) { return place.leads_to != Address{}; }

MarkedPointer pointer_at(const Place& place) {
  return {place.physical, place.virtual_address, place.leads_to};
}

}  // namespace

std::optional<Translation> Hierarchy::translation(Core core, Address address) const {
  if (page_tables_) return page_tables_(core, address);
  return Translation{page_of(address), cores_[core].tlb.huge()};
}

// ---- Marked loads ------------------------------------------------------------------------

/// If memory was asked for the line, so is that read. One by an entry has been marked before.
void Hierarchy::mark(Core core, const Place& place, const Answer& answer) {
  const bool accessed = answer.state == Answer::State::hit || answer.state == Answer::State::waits;
  if (!pretranslation_ || !accessed || marked_by_entry_) {
    marked_by_entry_ = false;
    return;
  }
  if (answer.state == Answer::State::hit) {
    probe(core, place);
    return;
  }
  ++pretranslation_->count.marked;
  if (!answer.asked) {
    ++pretranslation_->count.merged;
    return;
  }
  const Miss miss = pending_of_.at(place.physical.block(line_bytes));
  Pending& pending = pending_[miss];
  pending.core = core;
  pending.pointer = pointer_at(place);
  const auto transfer = std::find_if(transfers_.rbegin(), transfers_.rend(), [&](const auto& one) {
    return !one.write && one.miss == miss;
  });
  transfer->marks = pretranslation::pointer;
  transfer->pointer_offset = static_cast<std::uint8_t>(place.physical.value() % line_bytes);
}

/// A marked load has found its line in the caches: the DIMM sees nothing of it, unless it is asked.
void Hierarchy::probe(Core core, const Place& place) {
  if (!is_marked(place)) return;
  ++pretranslation_->count.marked;
  ++pretranslation_->count.cached;
  // A hint: without a register it is not asked.
  if (!pretranslation_->config().probe || pending_.in_use() >= config_.l3.mshrs) return;
  ++pretranslation_->count.probes;
  const Line line = place.physical.block(line_bytes);
  const Miss miss = pending_.take_any();
  Pending& pending = pending_[miss];
  pending.line = line;
  pending.probe = true;
  pending.core = core;
  pending.pointer = pointer_at(place);
  pending.waiting.clear();
  transfers_.push_back(
      {.line = line,
       .core = core,
       .miss = miss,
       .marks = pretranslation::pointer | pretranslation::entry_only,
       .pointer_offset = static_cast<std::uint8_t>(place.physical.value() % line_bytes)});
}

void Hierarchy::forget_pointer(Miss miss, std::uint64_t frame) {
  const MarkedPointer pointer = pending_[miss].pointer;
  if (pointer.leads_to == Address{}) return;
  pending_[miss].pointer = {};
  pointer_arrived(pending_[miss].core, pointer, frame);
}

/// A pointer's value has come, and with it where the DIMM thinks it leads. A page that the core
/// translates anyway needs no entry. One that the TLBs know is compared at once.
void Hierarchy::pointer_arrived(Core core, const MarkedPointer& pointer, std::uint64_t frame) {
  Pretranslation& here = *pretranslation_;
  const bool known = frame != no_frame;
  if (known) ++here.count.entries;
  const std::uint64_t page = page_of(pointer.leads_to);
  if (page == page_of(pointer.virtual_address)) return;
  const std::optional<Translation> right = translation(core, pointer.leads_to);
  const Tlb& tlb = cores_[core].tlb;
  const bool huge = right ? right->huge : tlb.huge();
  if (tlb.holds(pointer.leads_to, huge)) {
    if (!right || right->frame == frame) return;
    if (known) ++here.count.stale;
    tell(pointer.physical, right->frame);
    return;
  }
  if (!known) {
    ++here.count.missing;
    walks_[walk_ahead(core, pointer.leads_to, huge)].pointers.push_back(pointer);
    return;
  }
  here.put(core, {page, frame, pointer.physical});
  if (here.config().check_at_arrival) walk_ahead(core, pointer.leads_to, huge);
}

void Hierarchy::tell(Address pointer, std::uint64_t frame) {
  ++pretranslation_->count.updates;
  updates_.push_back({pointer, frame});
}

/// A walk that no access waits for; the one that is under way, if there is one.
Hierarchy::Walk Hierarchy::walk_ahead(Core core, Address address, bool huge) {
  const Private& at = cores_[core];
  const Address page = address.aligned_down(huge ? Tlb::huge_page : Tlb::small_page);
  for (const Walk walk : at.walks) {
    if (walks_[walk].page == page && walks_[walk].huge == huge) return walk;
  }
  const Walk walk = new_walk(core, page, huge);
  walks_[walk].waiting.clear();
  walks_[walk].demanded = false;
  ++pretranslation_->count.walks;
  if (at.walkers < config_.tlb.walkers) begin_walk(walk, config_.tlb.second_latency);
  return walk;
}

// ---- Reads by an entry -------------------------------------------------------------------

/// No TLB knows the page. A load may go by what the DIMM said, if the caches have nothing of the
/// line that this leads to: what they have must not be told before the walk is over.
Hierarchy::Answer Hierarchy::access_by_entry(Core core, const Place& place, Kind kind,
                                             Waiter waiter) {
  if (kind == Kind::load) {
    const auto frame = pretranslation_->frame_of(core, page_of(place.virtual_address));
    if (frame) {
      const Line line = line_in(*frame, place.virtual_address);
      if (!known_or_asked(core, line)) return read_unchecked(core, place, line, waiter);
    }
  }
  return wait_for_walk(core, place, waiter);
}

bool Hierarchy::known_or_asked(Core core, Line line) const {
  return pending_of_.contains(line) || where(core, Address(line * line_bytes)).has_value();
}

/// A read of `line`, which takes the registers of a miss; others find it when it is checked.
Hierarchy::Answer Hierarchy::read_unchecked(Core core, const Place& place, Line line,
                                            Waiter waiter) {
  Private& at = cores_[core];
  if (at.l1_misses >= config_.l1.mshrs) return {};
  if (at.l2_misses >= config_.l2.mshrs || at.writebacks >= config_.writebacks) {
    return {.level = Level::l2};
  }
  if (pending_.in_use() >= config_.l3.mshrs) return {.level = Level::l3};
  Pretranslation& here = *pretranslation_;
  ++at.l1_misses;
  ++at.l2_misses;
  ++count_.loads;
  ++count_.misses;
  ++here.count.used;
  const Walk walk = walk_ahead(core, place.virtual_address, place.huge);
  const Miss miss = pending_.take_any();
  Pending& pending = pending_[miss];
  pending.line = line;
  pending.certainty = Certainty::unchecked;
  pending.core = core;
  pending.right_line = place.physical.block(line_bytes);
  pending.waiting.assign(1, {.core = core, .l1 = true, .l2 = true, .waiter = waiter});
  Transfer transfer{.line = line, .core = core, .miss = miss, .delay = config_.tlb.second_latency};
  if (!here.config().speculate) transfer.marks = pretranslation::uncertain;
  if (is_marked(place)) {
    ++here.count.marked;
    pending.pointer = pointer_at(place);
    transfer.marks |= pretranslation::pointer;
    transfer.pointer_offset = static_cast<std::uint8_t>(place.physical.value() % line_bytes);
  }
  marked_by_entry_ = is_marked(place);
  transfers_.push_back(transfer);
  walks_[walk].unchecked.push_back(miss);
  return {Answer::State::waits, Level::memory, config_.tlb.second_latency, true};
}

/// Whether the read that memory has answered was no ordinary one, and that is all.
bool Hierarchy::filled_unchecked(Miss miss, std::uint64_t frame) {
  Pending& pending = pending_[miss];
  if (pending.probe) {
    pending.probe = false;
    forget_pointer(miss, frame);
    pending_.give_back(miss);
    return true;
  }
  switch (pending.certainty) {
    case Certainty::unchecked:
      pending.certainty = Certainty::arrived_unchecked;
      pending.frame = frame;
      return true;
    case Certainty::wrong:
      release_registers(pending);
      pending.certainty = Certainty::certain;
      pending_.give_back(miss);
      return true;
    case Certainty::arrived_unchecked:
    case Certainty::certain:
      break;
  }
  return false;
}

void Hierarchy::release_registers(const Pending& pending) {
  --cores_[pending.core].l1_misses;
  --cores_[pending.core].l2_misses;
}

// ---- Checks ------------------------------------------------------------------------------

/// A walk is over: it says which entries for its page were stale, where the pointers lead of which
/// the DIMM did not know, and whether the reads by an entry were right.
void Hierarchy::check_by(Walk walk, std::vector<Waiter>& woken) {
  Walking& walking = walks_[walk];
  const Core core = walking.core;
  // A pointer may lead to no page at all.
  if (walking.demanded || !walking.unchecked.empty() || translation(core, walking.page)) {
    cores_[core].tlb.fill(walking.page, walking.huge);
  }
  for (const Pretranslation::Entry& entry :
       pretranslation_->take(core, page_of(walking.page), walking.huge ? small_pages_in_huge : 1)) {
    const auto right = translation(core, Address(entry.page * Tlb::small_page));
    if (right && right->frame == entry.frame) continue;
    ++pretranslation_->count.stale;
    if (right) tell(entry.pointer, right->frame);
  }
  for (const MarkedPointer& pointer : walking.pointers) {
    const auto right = translation(core, pointer.leads_to);
    if (right) tell(pointer.physical, right->frame);
  }
  walking.pointers.clear();
  // What comes of a read may begin another walk: `walks_` may grow.
  const std::vector<Miss> unchecked = std::exchange(walking.unchecked, {});
  for (const Miss miss : unchecked) check_read(miss, woken);
}

void Hierarchy::check_read(Miss miss, std::vector<Waiter>& woken) {
  Pending& pending = pending_[miss];
  const bool right = pending.line == pending.right_line;
  if (!right) ++pretranslation_->count.corrected;
  if (pending.certainty == Certainty::arrived_unchecked) {
    if (right) {
      arrived_unchecked(miss);
    } else {
      give_up(miss, woken);
    }
    return;
  }
  // Another may have asked for the line by a translation that it knew.
  const bool alone = right && !known_or_asked(pending.core, pending.line);
  const bool held = !pretranslation_->config().speculate;
  if (alone) {
    pending.certainty = Certainty::certain;
    pending_of_.emplace(pending.line, miss);
    if (held) resolutions_.push_back({miss, true});
    after_l1_miss(pending.core, pending.line, false, Tick{});
  } else if (held) {
    resolutions_.push_back({miss, false});
    give_up(miss, woken);
  } else {
    // The data are still to come, and are dropped then.
    --count_.loads;
    --count_.misses;
    woken.push_back(pending.waiting.front().waiter);
    pending.pointer = {};
    pending.certainty = Certainty::wrong;
  }
}

/// The load asks again, by the right translation.
void Hierarchy::give_up(Miss miss, std::vector<Waiter>& woken) {
  Pending& pending = pending_[miss];
  release_registers(pending);
  --count_.loads;
  --count_.misses;
  woken.push_back(pending.waiting.front().waiter);
  pending.pointer = {};
  pending.certainty = Certainty::certain;
  pending_.give_back(miss);
}

/// The data of a read that was right came before its walk ended.
void Hierarchy::arrived_unchecked(Miss miss) {
  Pending& pending = pending_[miss];
  const Core core = pending.core;
  const Line line = pending.line;
  release_registers(pending);
  if (config_.inclusive) into_l3(core, line, false);
  if (cores_[core].l2.find(line) == Cache::none) install(core, line, false, false);
  if (cores_[core].l1.find(line) == Cache::none) into_l1(cores_[core], line);
  arrivals_.push_back(pending.waiting.front().waiter);
  pending.certainty = Certainty::certain;
  const std::uint64_t frame = pending.frame;
  forget_pointer(miss, frame);
  pending_.give_back(miss);
}

}  // namespace nearfar::sim::cpu

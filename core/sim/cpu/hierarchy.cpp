#include "sim/cpu/hierarchy.h"

#include <algorithm>

namespace nearfar::sim::cpu {

Hierarchy::Hierarchy(const HierarchyConfig& config, std::uint64_t seed)
    : config_(config), seed_(seed), l3_(config.l3, seed) {
  if (config.pretranslation.enabled) {
    pretranslation_ = std::make_unique<Pretranslation>(config.pretranslation);
  }
}

void Hierarchy::add_cores(std::size_t count) {
  cores_.reserve(count);
  while (cores_.size() < count) cores_.emplace_back(config_, seed_ + cores_.size() + 1);
}

Tick Hierarchy::latency(Level level) const {
  switch (level) {
    case Level::l1:
      return config_.l1.latency;
    case Level::l2:
      return config_.l2.latency;
    case Level::l3:
      return config_.l3.latency;
    case Level::memory:
      break;
  }
  return Tick{};
}

Hierarchy::Answer Hierarchy::access(Core core, const Place& place, Kind kind, Waiter waiter) {
  Private& at = cores_[core];
  const Line line = place.physical.block(line_bytes);
  at.page = page_of(place.virtual_address);
  const std::uint64_t hits_before = count_.tlb_hits;
  Tick translation{};
  if (!place.translated) {
    switch (at.tlb.look_up(place.virtual_address, place.huge)) {
      case Tlb::Found::first:
        ++count_.tlb_hits;
        break;
      case Tlb::Found::second:
        ++count_.tlb2_hits;
        translation = config_.tlb.second_latency;
        break;
      case Tlb::Found::walk:
        if (pretranslation_) return access_by_entry(core, place, kind, waiter);
        return wait_for_walk(core, place, waiter);
    }
  }
  ++(kind == Kind::load ? count_.loads : count_.stores);
  const Cache::Slot slot = at.l1.find(line);
  const bool others = kind == Kind::store && elsewhere(core, line);
  if (slot != Cache::none && !others) {
    at.l1.use(slot);
    ++count_.l1_hits;
    return {Answer::State::hit, Level::l1, translation + config_.l1.latency};
  }
  const bool here = slot != Cache::none || at.l2.find(line) != Cache::none;
  const Answer answer = others && here ? upgrade(core, line, translation)
                                       : beyond_l1(core, line, translation, waiter);
  if (answer.state == Answer::State::full) {
    // It will be asked again.
    --(kind == Kind::load ? count_.loads : count_.stores);
    count_.tlb_hits = hits_before;
  }
  return answer;
}

bool Hierarchy::elsewhere(Core core, Line line) const {
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    if (other != core && cores_[other].l2.find(line) != Cache::none) return true;
  }
  return false;
}

/// A store's line is in the core's caches, and in others': it has to ask for it all the same.
Hierarchy::Answer Hierarchy::upgrade(Core core, Line line, Tick translation) {
  Private& at = cores_[core];
  if (at.l1_misses >= config_.l1.mshrs) return {};
  ++at.l1_misses;
  ++count_.upgrades;
  if (const Cache::Slot slot = at.l1.find(line); slot != Cache::none) {
    at.l1.use(slot);
  } else {
    at.l2.use(at.l2.find(line));
    into_l1(at, line);
  }
  return {Answer::State::hit, Level::l3, translation + config_.l3.latency};
}

Hierarchy::Answer Hierarchy::beyond_l1(Core core, Line line, Tick translation, Waiter waiter) {
  Private& at = cores_[core];
  if (const auto pending = pending_of_.find(line); pending != pending_of_.end()) {
    return merge(core, line, pending->second, translation, waiter);
  }
  if (at.l1_misses >= config_.l1.mshrs) return {};
  Level found = Level::l2;
  if (const Cache::Slot slot = at.l2.find(line); slot != Cache::none) {
    at.l2.use(slot);
    into_l1(at, line);
    ++count_.l2_hits;
  } else if (const std::optional<bool> dirty = from_socket(core, line)) {
    found = Level::l3;
    install(core, line, *dirty, true);
    ++count_.l3_hits;
  } else {
    return miss(core, line, translation, waiter);
  }
  ++at.l1_misses;
  after_l1_miss(core, line, true, translation);
  return {Answer::State::hit, found, translation + latency(found)};
}

/// The line is on its way: wait along, with registers of one's own unless one has them.
Hierarchy::Answer Hierarchy::merge(Core core, Line line, Miss miss, Tick translation,
                                   Waiter waiter) {
  Private& at = cores_[core];
  Pending& pending = pending_[miss];
  bool has_l1 = false;
  bool has_l2 = false;
  for (const Waiting& waiting : pending.waiting) {
    if (waiting.core != core) continue;
    has_l1 |= waiting.l1;
    has_l2 |= waiting.l2;
  }
  if (!has_l1 && at.l1_misses >= config_.l1.mshrs) return {};
  if (!has_l2 && at.l2_misses >= config_.l2.mshrs) return {.level = Level::l2};
  at.l1_misses += has_l1 ? 0 : 1;
  at.l2_misses += has_l2 ? 0 : 1;
  pending.waiting.push_back(
      {.core = core, .demand = true, .l1 = !has_l1, .l2 = !has_l2, .waiter = waiter});
  ++count_.merged;
  // A demand that finds its line on the way was asked of L2, too, unless one of L1 had been.
  if (!has_l1) after_l1_miss(core, line, true, translation);
  return {Answer::State::waits, Level::memory, translation};
}

Hierarchy::Answer Hierarchy::miss(Core core, Line line, Tick translation, Waiter waiter) {
  Private& at = cores_[core];
  if (at.l2_misses >= config_.l2.mshrs || at.writebacks >= config_.writebacks) {
    return {.level = Level::l2};
  }
  if (pending_.in_use() >= config_.l3.mshrs) return {.level = Level::l3};
  ++at.l1_misses;
  ask_memory(line, {.core = core, .demand = true, .l1 = true, .l2 = true, .waiter = waiter},
             translation);
  ++count_.misses;
  after_l1_miss(core, line, false, translation);
  return {Answer::State::waits, Level::memory, translation, true};
}

/// What L2 sees is translated, so what it asks for on its own comes no sooner. In another page than
/// the access it goes where the page tables say, if they have the page.
void Hierarchy::after_l1_miss(Core core, Line line, bool hit, Tick translation) {
  if (!config_.prefetch.adjacent && !config_.prefetch.stream) return;
  wanted_.clear();
  Private& at = cores_[core];
  const Line seen = line_in(at.page, Address(line * line_bytes));
  at.prefetcher.observe(
      {.line = seen, .hit = hit, .outstanding = at.l2_misses, .registers = config_.l2.mshrs},
      wanted_);
  for (const Line next : wanted_) {
    const bool adjacent = config_.prefetch.adjacent && !hit && next == (seen ^ 1);
    const Address address(next * line_bytes);
    if (page_of(address) == at.page) {
      prefetch(core, line - seen + next, adjacent, translation);
    } else if (const auto found = this->translation(core, address)) {
      prefetch(core, line_in(found->frame, address), adjacent, translation);
    }
  }
}

/// Into L2, from wherever it is; dropped when that would need a register that is not free.
void Hierarchy::prefetch(Core core, Line line, bool adjacent, Tick translation) {
  const Private& at = cores_[core];
  if (at.l2.find(line) != Cache::none || pending_of_.contains(line)) return;
  if (const std::optional<bool> dirty = from_socket(core, line)) {
    install(core, line, *dirty, false);
    from_l3_.push_back({.core = core, .line = line, .delay = translation + config_.l3.latency});
    ++count_.prefetches;
    return;
  }
  if (at.l2_misses >= config_.l2.mshrs || at.writebacks >= config_.writebacks ||
      pending_.in_use() >= config_.l3.mshrs) {
    return;
  }
  ask_memory(line, {.core = core, .demand = false, .l1 = false, .l2 = true, .waits = !adjacent},
             translation);
  ++count_.prefetches;
}

void Hierarchy::ask_memory(Line line, const Waiting& waiting, Tick delay) {
  ++cores_[waiting.core].l2_misses;
  const Miss miss = pending_.take_any();
  pending_[miss].line = line;
  pending_[miss].waiting.assign(1, waiting);
  pending_of_.emplace(line, miss);
  transfers_.push_back(
      {.line = line, .core = waiting.core, .write = false, .miss = miss, .delay = delay});
}

void Hierarchy::filled(Miss miss, std::vector<Waiter>& woken, std::uint64_t frame) {
  if (pretranslation_ && filled_unchecked(miss, frame)) return;
  const Line line = pending_[miss].line;
  pending_of_.erase(line);
  if (config_.inclusive) into_l3(pending_[miss].waiting.front().core, line, false);
  // A walk that goes on may ask for another line: `pending_` may grow.
  for (std::size_t i = 0; i < pending_[miss].waiting.size(); ++i) {
    const Waiting waiting = pending_[miss].waiting[i];
    Private& at = cores_[waiting.core];
    at.l1_misses -= waiting.l1 ? 1 : 0;
    at.l2_misses -= waiting.l2 ? 1 : 0;
    if (at.l2.find(line) == Cache::none) install(waiting.core, line, false, false);
    if (!waiting.demand) continue;
    if (at.l1.find(line) == Cache::none) into_l1(at, line);
    if (waiting.table) {
      go_on(waiting.waiter);
    } else {
      woken.push_back(waiting.waiter);
    }
  }
  if (pretranslation_) forget_pointer(miss, frame);
  pending_.give_back(miss);
}

bool Hierarchy::drop(Miss miss) {
  const Pending& pending = pending_[miss];
  for (const Waiting& waiting : pending.waiting) {
    if (waiting.waits) return false;
  }
  for (const Waiting& waiting : pending.waiting) --cores_[waiting.core].l2_misses;
  pending_of_.erase(pending.line);
  pending_.give_back(miss);
  return true;
}

bool Hierarchy::commit(Core core, Address address) {
  Private& at = cores_[core];
  const Line line = address.block(line_bytes);
  const Cache::Slot below = at.l2.find(line);
  if (below == Cache::none) return false;
  const Cache::Slot slot = at.l1.find(line);
  const bool owned = at.l2.dirty(below) || (slot != Cache::none && at.l1.dirty(slot));
  if (!owned) leave_others(core, line);
  if (slot != Cache::none) {
    at.l1.mark(slot, true);
  } else {
    at.l2.mark(below, true);
  }
  return true;
}

/// Before a core changes a clean line: no other core may keep it, and L3's copy no longer has to be
/// written.
void Hierarchy::leave_others(Core core, Line line) {
  if (cores_.size() == 1 && !config_.inclusive) return;
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    if (other != core) remove_private(cores_[other], line);
  }
  const Cache::Slot slot = l3_.find(line);
  if (slot == Cache::none) return;
  if (config_.inclusive) {
    l3_.mark(slot, false);
  } else {
    l3_.remove(slot);
  }
}

bool Hierarchy::flush(Address address, bool keep) {
  const Line line = address.block(line_bytes);
  bool dirty = false;
  for (Private& at : cores_) dirty |= keep ? clean_private(at, line) : remove_private(at, line);
  if (const Cache::Slot slot = l3_.find(line); slot != Cache::none) {
    dirty |= l3_.dirty(slot);
    if (keep) {
      l3_.mark(slot, false);
    } else {
      l3_.remove(slot);
    }
  }
  count_.flushes += dirty ? 1 : 0;
  return dirty;
}

std::optional<Hierarchy::Level> Hierarchy::where(Core core, Address address) const {
  const Line line = address.block(line_bytes);
  const Private& at = cores_[core];
  if (at.l1.find(line) != Cache::none) return Level::l1;
  if (at.l2.find(line) != Cache::none) return Level::l2;
  for (const Private& other : cores_) {
    if (other.l2.find(line) != Cache::none) return Level::l3;
  }
  if (l3_.find(line) != Cache::none) return Level::l3;
  return std::nullopt;
}

void Hierarchy::warm(Core core, Address address, Kind kind) {
  Private& at = cores_[core];
  const Line line = address.block(line_bytes);
  warming_ = true;
  warm_translation(core, address);
  if (const Cache::Slot slot = at.l1.find(line); slot != Cache::none) {
    at.l1.use(slot);
  } else if (const Cache::Slot below = at.l2.find(line); below != Cache::none) {
    at.l2.use(below);
    into_l1(at, line);
  } else {
    const std::optional<bool> dirty = from_socket(core, line);
    if (!dirty && config_.inclusive) into_l3(core, line, false);
    install(core, line, dirty.value_or(false), true);
    if (config_.prefetch.adjacent && at.l2.find(line ^ 1) == Cache::none) {
      install(core, line ^ 1, from_socket(core, line ^ 1).value_or(false), false);
    }
  }
  if (kind == Kind::store) commit(core, address);
  warming_ = false;
}

void Hierarchy::hold(Address address) {
  const Line line = address.block(line_bytes);
  if (l3_.has_room(line) && !where(0, address)) l3_.insert(line, false);
}

/// What a core gets from the other cores or L3: nothing, or a line that is dirty or not. Others
/// that have it keep it: a core that stores takes it from them in commit(), where one core always
/// gets ahead, and not here, where two cores could take a line from each other for ever.
std::optional<bool> Hierarchy::from_socket(Core core, Line line) {
  bool shared = false;
  for (std::size_t other = 0; other < cores_.size(); ++other) {
    if (other == core || cores_[other].l2.find(line) == Cache::none) continue;
    shared = true;
    if (clean_private(cores_[other], line)) into_l3(core, line, true);
  }
  const Cache::Slot slot = l3_.find(line);
  if (slot == Cache::none) return shared ? std::optional(false) : std::nullopt;
  if (config_.inclusive || shared) {
    l3_.use(slot);
    return false;
  }
  const bool dirty = l3_.dirty(slot);
  l3_.remove(slot);
  return dirty;
}

/// Into L2, and L1 if wanted; what leaves L2 for it goes on to L3.
void Hierarchy::install(Core core, Line line, bool dirty, bool to_l1) {
  Private& at = cores_[core];
  if (const std::optional<Cache::Victim> victim = at.l2.insert(line, dirty)) {
    bool victim_dirty = victim->dirty;
    if (const Cache::Slot slot = at.l1.find(victim->line); slot != Cache::none) {
      victim_dirty |= at.l1.dirty(slot);
      at.l1.remove(slot);
    }
    into_l3(core, victim->line, victim_dirty);
  }
  if (to_l1) into_l1(at, line);
}

void Hierarchy::into_l1(Private& at, Line line) {
  const std::optional<Cache::Victim> victim = at.l1.insert(line, false);
  if (victim && victim->dirty) at.l2.mark(at.l2.find(victim->line), true);
}

void Hierarchy::into_l3(Core core, Line line, bool dirty) {
  if (const Cache::Slot slot = l3_.find(line); slot != Cache::none) {
    if (dirty) l3_.mark(slot, true);
    return;
  }
  const std::optional<Cache::Victim> victim = l3_.insert(line, dirty);
  if (!victim) return;
  bool victim_dirty = victim->dirty;
  if (config_.inclusive) {
    for (Private& at : cores_) victim_dirty |= remove_private(at, victim->line);
  }
  if (victim_dirty && !warming_) {
    ++cores_[core].writebacks;
    ++count_.writebacks;
    transfers_.push_back({.line = victim->line, .core = core, .write = true});
  }
}

/// Whether it was dirty there.
bool Hierarchy::remove_private(Private& at, Line line) {
  const Cache::Slot below = at.l2.find(line);
  if (below == Cache::none) return false;
  bool dirty = at.l2.dirty(below);
  at.l2.remove(below);
  if (const Cache::Slot slot = at.l1.find(line); slot != Cache::none) {
    dirty |= at.l1.dirty(slot);
    at.l1.remove(slot);
  }
  return dirty;
}

/// Whether it was dirty there.
bool Hierarchy::clean_private(Private& at, Line line) {
  const Cache::Slot below = at.l2.find(line);
  if (below == Cache::none) return false;
  bool dirty = at.l2.dirty(below);
  at.l2.mark(below, false);
  if (const Cache::Slot slot = at.l1.find(line); slot != Cache::none) {
    dirty |= at.l1.dirty(slot);
    at.l1.mark(slot, false);
  }
  return dirty;
}

void Hierarchy::register_counters(Counters& counters) const {
  counters.add("loads", count_.loads);
  counters.add("stores", count_.stores);
  counters.add("l1.hits", count_.l1_hits);
  counters.add("l2.hits", count_.l2_hits);
  counters.add("l3.hits", count_.l3_hits);
  counters.add("misses", count_.misses);
  counters.add("merged", count_.merged);
  counters.add("upgrades", count_.upgrades);
  counters.add("writebacks", count_.writebacks);
  counters.add("flushes", count_.flushes);
  counters.add("prefetches", count_.prefetches);
  counters.add("tlb.1.hits", count_.tlb_hits);
  counters.add("tlb.2.hits", count_.tlb2_hits);
  counters.add("tlb.walks", count_.walks);
  counters.add("tlb.walks_to_memory", count_.walk_memory);
  if (pretranslation_) pretranslation_->register_counters(counters);
}

}  // namespace nearfar::sim::cpu

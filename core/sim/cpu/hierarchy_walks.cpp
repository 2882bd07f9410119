#include <algorithm>

#include "sim/cpu/hierarchy.h"

/// Page walks: what a page that no TLB knows costs.
namespace nearfar::sim::cpu {

/// The page may be walked to already; if not, and all walkers are at work, the walk waits for one.
Hierarchy::Answer Hierarchy::wait_for_walk(Core core, const Place& place, Waiter waiter) {
  const Private& at = cores_[core];
  const Address page =
      place.virtual_address.aligned_down(place.huge ? Tlb::huge_page : Tlb::small_page);
  Answer answer;
  answer.state = Answer::State::walks;
  for (const Walk walk : at.walks) {
    Walking& walking = walks_[walk];
    if (walking.page != page || walking.huge != place.huge) continue;
    if (!walking.demanded) ++count_.walks;
    walking.demanded = true;
    walking.waiting.push_back(waiter);
    return answer;
  }
  const Walk walk = new_walk(core, page, place.huge);
  walks_[walk].waiting.assign(1, waiter);
  walks_[walk].demanded = true;
  ++count_.walks;
  if (at.walkers < config_.tlb.walkers) begin_walk(walk, config_.tlb.second_latency);
  return answer;
}

Hierarchy::Walk Hierarchy::new_walk(Core core, Address page, bool huge) {
  const Walk walk = walks_.take_any();
  Walking& walking = walks_[walk];
  walking.step = Walking::Step::queued;
  walking.huge = huge;
  walking.core = core;
  walking.page = page;
  cores_[core].walks.push_back(walk);
  return walk;
}

/// After `taken`, since it could have begun.
void Hierarchy::begin_walk(Walk walk, Tick taken) {
  Walking& walking = walks_[walk];
  Private& at = cores_[walking.core];
  ++at.walkers;
  walking.taken = taken;
  walking.step = at.tlb.reads_directory(walking.page, walking.huge) ? Walking::Step::directory
                                                                    : Walking::Step::entry;
  go_on(walk);
}

/// Reads one table after the other, up to one that memory is asked for: when that has answered, the
/// walk goes on from here.
void Hierarchy::go_on(Walk walk) {
  Walking& walking = walks_[walk];
  while (walking.step != Walking::Step::over) {
    const bool directory = walking.step == Walking::Step::directory;
    walking.step = directory ? Walking::Step::entry : Walking::Step::over;
    const Line line =
        directory ? Tlb::directory_line(walking.page) : Tlb::entry_line(walking.page, walking.huge);
    if (!read_table(walk, line)) return;
  }
  ends_.push_back({.walk = walk, .core = walking.core, .delay = walking.taken});
  walking.taken = Tick{};
}

/// Whether the line was read; if not, memory has been asked for it.
bool Hierarchy::read_table(Walk walk, Line line) {
  Walking& walking = walks_[walk];
  const Core core = walking.core;
  if (const std::optional<Tick> latency = table_in_caches(core, line)) {
    walking.taken += *latency;
    return true;
  }
  if (config_.tables.size == 0) {
    ++count_.walk_memory;
    table_from_memory(core, line);
    walking.taken += config_.tables.apart;
    return true;
  }
  const Waiting waiting{.core = core, .table = true, .waiter = walk};
  if (const auto pending = pending_of_.find(line); pending != pending_of_.end()) {
    pending_[pending->second].waiting.push_back(waiting);
  } else {
    ++count_.walk_memory;
    const Miss miss = pending_.take_any();
    pending_[miss].line = line;
    pending_[miss].waiting.assign(1, waiting);
    pending_of_.emplace(line, miss);
    transfers_.push_back({.line = memory_line(line),
                          .core = core,
                          .table = true,
                          .miss = miss,
                          .delay = walking.taken});
  }
  walking.taken = Tick{};
  return false;
}

/// How long a read of a table takes that finds its line in the caches.
std::optional<Tick> Hierarchy::table_in_caches(Core core, Line line) {
  Private& at = cores_[core];
  if (const Cache::Slot slot = at.l1.find(line); slot != Cache::none) {
    at.l1.use(slot);
    return config_.l1.latency;
  }
  if (const Cache::Slot slot = at.l2.find(line); slot != Cache::none) {
    at.l2.use(slot);
    into_l1(at, line);
    return config_.l2.latency;
  }
  if (!from_socket(core, line)) return std::nullopt;
  install(core, line, false, true);
  return config_.l3.latency;
}

void Hierarchy::table_from_memory(Core core, Line line) {
  if (config_.inclusive) into_l3(core, line, false);
  install(core, line, false, true);
}

/// Where a line of the tables lies in memory. Their part of it has room for the entries of all of
/// memory; a program's addresses may be any, and are taken round it. Directories have the last
/// sixteenth.
Line Hierarchy::memory_line(Line table) const {
  const TableConfig& tables = config_.tables;
  const Line first = tables.base.value() / line_bytes;
  const Line all = tables.size / line_bytes;
  const Line directories = std::max<Line>(all / 16, 1);
  return table >= Tlb::directories
             ? first + all - directories + (table - Tlb::directories) % directories
             : first + (table - Tlb::tables) % (all - directories);
}

void Hierarchy::walked(Walk walk, std::vector<Waiter>& woken) {
  if (pretranslation_) {
    check_by(walk, woken);
  } else {
    cores_[walks_[walk].core].tlb.fill(walks_[walk].page, walks_[walk].huge);
  }
  const Walking& walking = walks_[walk];
  Private& at = cores_[walking.core];
  woken.insert(woken.end(), walking.waiting.begin(), walking.waiting.end());
  at.walks.erase(std::find(at.walks.begin(), at.walks.end(), walk));
  walks_.give_back(walk);
  --at.walkers;
  const auto next = std::find_if(at.walks.begin(), at.walks.end(), [&](Walk other) {
    return walks_[other].step == Walking::Step::queued;
  });
  if (next != at.walks.end()) begin_walk(*next, Tick{});
}

/// As a walk leaves things, without time.
void Hierarchy::warm_translation(Core core, Address address) {
  Private& at = cores_[core];
  const bool huge = at.tlb.huge();
  if (at.tlb.look_up(address, huge) != Tlb::Found::walk) return;
  const auto read = [&](Line line) {
    if (!table_in_caches(core, line)) table_from_memory(core, line);
  };
  if (at.tlb.reads_directory(address, huge)) read(Tlb::directory_line(address));
  read(Tlb::entry_line(address, huge));
  at.tlb.fill(address, huge);
}

}  // namespace nearfar::sim::cpu

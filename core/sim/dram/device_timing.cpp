#include "sim/dram/device_timing.h"

#include <algorithm>

namespace nearfar::sim::dram {
namespace {

constexpr bool slots_are_sound() {
  for (const Constraint& c : ddr4::constraints) {
    if (c.following.has(Command::rd) != c.following.has(Command::rda)) return false;
    if (c.following.has(Command::wr) != c.following.has(Command::wra)) return false;
  }
  return true;
}
static_assert(slots_are_sound(), "commands that share a slot obey different constraints");

/// Whether a controller of this configuration ever issues the commands of `slot`.
bool issues(const Config& config, Slot slot) {
  switch (slot) {
    case Slot::act:
    case Slot::pre:
    case Slot::rd:
    case Slot::wr:
      return true;
    case Slot::prea:
      return config.refresh || config.selfrefresh_idle > 0;
    case Slot::ref:
      return config.refresh;
    case Slot::pde:
    case Slot::pdx:
      return config.powerdown_idle > 0;
    case Slot::sre:
    case Slot::srx:
      return config.selfrefresh_idle > 0;
  }
  return false;
}

std::uint32_t index_of(Slot slot) { return static_cast<std::uint32_t>(slot); }

/// The slots of `commands` that a channel of this configuration issues, each once.
std::vector<Slot> slots_in(CommandSet commands, const Config& config) {
  std::vector<Slot> slots;
  for (std::uint8_t c = 0; c < command_count; ++c) {
    const Slot slot = slot_of(static_cast<Command>(c));
    if (!commands.has(static_cast<Command>(c)) || !issues(config, slot)) continue;
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
  }
  return slots;
}

/// Only bus constraints between ranks can come out negative: nothing to wait for then.
std::uint32_t gap_of(const Constraint& constraint, const Config& config) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(constraint.gap(config.timing), 0));
}

}  // namespace

DeviceTiming::DeviceTiming(const Config& config)
    : ranks_(config.ranks), banks_(config.total_banks()) {
  const std::uint32_t groups = config.ranks * config.bank_groups;
  const std::uint32_t group_cells = banks_ * bank_slots;
  rank_cells_ = group_cells + groups * bank_slots;
  cells_.resize(rank_cells_ + ranks_ * rank_slots);
  for (std::uint32_t bank = 0; bank < banks_; ++bank) {
    places_.push_back({group_cells + bank / config.banks * bank_slots,
                       rank_cells_ + bank / config.banks_in_rank() * rank_slots});
  }
  for (std::uint8_t command = 0; command < command_count; ++command) {
    for (std::uint32_t bank = 0; bank < banks_; ++bank) {
      collect(static_cast<Command>(command), bank, config);
    }
  }
  add_windows(config);
}

/// Lists what `preceding`, issued to this bank, raises.
void DeviceTiming::collect(Command preceding, std::uint32_t bank, const Config& config) {
  Rules rules;
  rules.begin = static_cast<std::uint32_t>(rules_.size());
  const Place& place = places_[bank];
  for (const Constraint& constraint : ddr4::constraints) {
    if (!constraint.preceding.has(preceding) || constraint.count > 1) continue;
    const std::uint32_t gap = gap_of(constraint, config);
    for (const Slot slot : slots_in(constraint.following, config)) {
      switch (constraint.scope) {
        case Scope::bank:
          rules_.push_back({bank * bank_slots + index_of(slot), gap});
          break;
        case Scope::bank_group:
          rules_.push_back({place.group + index_of(slot), gap});
          break;
        case Scope::rank:
          rules_.push_back({place.rank + index_of(slot), gap});
          break;
        case Scope::other_ranks:
          for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            const std::uint32_t cells = rank_cells_ + rank * rank_slots;
            if (cells != place.rank) rules_.push_back({cells + index_of(slot), gap});
          }
          break;
      }
    }
  }
  rules.end = static_cast<std::uint32_t>(rules_.size());
  rules_of_.push_back(rules);
}

void DeviceTiming::add_windows(const Config& config) {
  for (const Constraint& constraint : ddr4::constraints) {
    if (constraint.count == 1) continue;
    for (std::uint8_t c = 0; c < command_count; ++c) {
      if (!constraint.preceding.has(static_cast<Command>(c))) continue;
      for (const Slot slot : slots_in(constraint.following, config)) {
        windows_.push_back({static_cast<Command>(c), index_of(slot), gap_of(constraint, config),
                            constraint.count,
                            std::vector<Cycle>(std::size_t{ranks_} * constraint.count),
                            std::vector<std::uint32_t>(ranks_)});
      }
    }
  }
}

void DeviceTiming::issue(Command command, std::uint32_t bank, Cycle cycle) {
  const auto raise = [&](std::uint32_t cell, Cycle to) {
    if (cells_[cell] < to) cells_[cell] = to;
  };
  const Rules rules = rules_of_[static_cast<std::uint32_t>(command) * banks_ + bank];
  const Rule* const end = rules_.data() + rules.end;
  for (const Rule* rule = rules_.data() + rules.begin; rule != end; ++rule) {
    raise(rule->cell, cycle + rule->gap);
  }
  for (Window& window : windows_) {
    if (window.preceding != command) continue;
    const std::uint32_t cells = places_[bank].rank;
    const std::uint32_t rank = (cells - rank_cells_) / rank_slots;
    std::uint32_t& position = window.position[rank];
    Cycle* const release = &window.release[rank * window.count];
    release[position] = cycle + window.gap;
    position = position + 1 == window.count ? 0 : position + 1;
    raise(cells + window.slot, release[position]);
  }
}

void DeviceTiming::shift(Cycle cycles) {
  for (Cycle& cell : cells_) cell += cycles;
  for (Window& window : windows_) {
    for (Cycle& time : window.release) time += cycles;
  }
}

}  // namespace nearfar::sim::dram

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

constexpr bool is_for_bank(Slot slot) { return slot < Slot::prea; }

constexpr bool scopes_are_sound() {
  for (const Constraint& c : ddr4::constraints) {
    if (c.scope == Scope::bank_group && c.following.has(Command::pre)) return false;
    if (c.scope == Scope::rank) continue;
    for (std::uint8_t i = 0; i < command_count; ++i) {
      const auto command = static_cast<Command>(i);
      if (c.following.has(command) && !is_for_bank(slot_of(command))) return false;
    }
  }
  return true;
}
static_assert(scopes_are_sound(), "DeviceTiming looks for a command's bounds elsewhere");

constexpr bool only_activates_are_counted() {
  int counted = 0;
  for (const Constraint& c : ddr4::constraints) {
    if (c.count == 1) continue;
    ++counted;
    if (c.scope != Scope::rank || c.count != DeviceTiming::window) return false;
    for (std::uint8_t i = 0; i < command_count; ++i) {
      const auto command = static_cast<Command>(i);
      const bool act = command == Command::act;
      if (c.preceding.has(command) != act || c.following.has(command) != act) return false;
    }
  }
  return counted == 1;
}
static_assert(only_activates_are_counted(), "DeviceTiming keeps one ring, for activates");
static_assert(slots_are_sound(), "commands that share a slot obey different constraints");

/// The slots of `commands`, each once.
std::vector<Slot> slots_in(CommandSet commands) {
  std::vector<Slot> slots;
  for (std::uint8_t c = 0; c < command_count; ++c) {
    const Slot slot = slot_of(static_cast<Command>(c));
    if (!commands.has(static_cast<Command>(c))) continue;
    if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
  }
  return slots;
}

/// Only bus constraints between ranks can come out negative: nothing to wait for then.
std::uint32_t gap_of(const Constraint& constraint, const Config& config) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(constraint.gap(config.timing), 0));
}

}  // namespace

DeviceTiming::DeviceTiming(const Config& config) : ranks_(config.ranks) {
  for (std::uint32_t bank = 0; bank < config.total_banks(); ++bank) {
    rank_of_[bank] = static_cast<std::uint8_t>(bank / config.banks_in_rank());
    group_cell_[bank] = static_cast<std::uint16_t>(group_cells + bank / config.banks * bank_slots);
  }
  for (std::size_t row = 0; row < gaps_.size(); ++row) {
    const Constraint& constraint = ddr4::constraints[row];
    gaps_[row] = gap_of(constraint, config);
    if (constraint.count == 1) {
      collect_for_ranks(constraint, config);
    } else {
      window_gap_ = gaps_[row];
    }
  }
}

void DeviceTiming::issue(Command command, std::uint32_t bank, Cycle cycle) {
  switch (command) {
    case Command::act:
      return issue<Command::act>(bank, cycle);
    case Command::pre:
      return issue<Command::pre>(bank, cycle);
    case Command::prea:
      return issue<Command::prea>(bank, cycle);
    case Command::rd:
      return issue<Command::rd>(bank, cycle);
    case Command::rda:
      return issue<Command::rda>(bank, cycle);
    case Command::wr:
      return issue<Command::wr>(bank, cycle);
    case Command::wra:
      return issue<Command::wra>(bank, cycle);
    case Command::ref:
      return issue<Command::ref>(bank, cycle);
    case Command::pde:
      return issue<Command::pde>(bank, cycle);
    case Command::pdx:
      return issue<Command::pdx>(bank, cycle);
    case Command::sre:
      return issue<Command::sre>(bank, cycle);
    case Command::srx:
      return issue<Command::srx>(bank, cycle);
  }
}

/// Lists, for each command to a whole rank, what it has to come after.
void DeviceTiming::collect_for_ranks(const Constraint& constraint, const Config& config) {
  for (const Slot slot : slots_in(constraint.following)) {
    if (is_for_bank(slot)) continue;
    for (std::uint8_t c = 0; c < command_count; ++c) {
      const auto preceding = static_cast<Command>(c);
      if (!constraint.preceding.has(preceding)) continue;
      rank_rules_[static_cast<std::size_t>(slot)].push_back(
          {preceding, gap_of(constraint, config)});
    }
  }
}

Cycle DeviceTiming::earliest_for_rank(Slot slot, std::uint32_t rank) const {
  Cycle earliest = 0;
  for (const RankRule& rule : rank_rules_[static_cast<std::size_t>(slot)]) {
    const Cycle at = last_[static_cast<std::size_t>(rule.preceding)][rank];
    if (at != 0) earliest = std::max(earliest, at + rule.gap);
  }
  return earliest;
}

void DeviceTiming::shift(Cycle cycles) {
  for (Cycle& cell : cells_) cell += cycles;
  for (Ring& ring : rings_) {
    for (Cycle& time : ring.release) time += cycles;
  }
  for (auto& ranks : last_) {
    for (Cycle& time : ranks) time += time == 0 ? 0 : cycles;
  }
}

}  // namespace nearfar::sim::dram

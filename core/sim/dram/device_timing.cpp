#include "sim/dram/device_timing.h"

#include <algorithm>
#include <span>

namespace nearfar::sim::dram {
namespace {

constexpr bool is_for_bank(Slot slot) { return slot < Slot::prea; }

/// Whether a predicate holds for every command of a set.
template <typename Predicate>
constexpr bool all_of(CommandSet commands, Predicate predicate) {
  for (std::uint8_t i = 0; i < command_count; ++i) {
    const auto command = static_cast<Command>(i);
    if (commands.has(command) && !predicate(command)) return false;
  }
  return true;
}

constexpr bool is_a_bank_command(Command command) { return is_for_bank(slot_of(command)); }

/// Commands that share a slot obey the same constraints, but for RDA, which one bank may hold
/// back longer than RD.
constexpr bool slots_are_sound(std::span<const Constraint> table) {
  for (const Constraint& c : table) {
    const CommandSet& to = c.following;
    if (to.has(Command::rd) && !to.has(Command::rda)) return false;
    if (to.has(Command::wr) != to.has(Command::wra)) return false;
    if (to.has(Command::rd) || !to.has(Command::rda)) continue;
    const auto is_rda = [](Command command) { return command == Command::rda; };
    if (c.scope != Scope::bank || c.count != 1 || !all_of(to, is_rda)) return false;
  }
  return true;
}
static_assert(slots_are_sound(ddr4::constraints) && slots_are_sound(ddr5::constraints),
              "commands that share a slot obey different constraints");

constexpr bool scopes_are_sound(std::span<const Constraint> table) {
  for (const Constraint& c : table) {
    switch (c.scope) {
      case Scope::bank_group:
        if (c.following.has(Command::pre)) return false;
        [[fallthrough]];
      case Scope::bank:
        if (!all_of(c.following, is_a_bank_command)) return false;
        break;
      case Scope::same_bank: {
        const auto is_act = [](Command command) { return command == Command::act; };
        const auto is_refsb = [](Command command) { return command == Command::refsb; };
        if (!all_of(c.following, is_act) && !all_of(c.following, is_refsb)) return false;
        break;
      }
      case Scope::rank:
      case Scope::other_ranks:
        break;
    }
  }
  return true;
}
static_assert(scopes_are_sound(ddr4::constraints) && scopes_are_sound(ddr5::constraints),
              "DeviceTiming looks for a command's bounds elsewhere");

constexpr bool only_activates_are_counted(std::span<const Constraint> table) {
  const auto is_act = [](Command command) { return command == Command::act; };
  int counted = 0;
  for (const Constraint& c : table) {
    if (c.count == 1) continue;
    ++counted;
    if (c.scope != Scope::rank || c.count != DeviceTiming::window) return false;
    if (!all_of(c.preceding, is_act) || !all_of(c.following, is_act)) return false;
  }
  return counted == 1;
}
static_assert(only_activates_are_counted(ddr4::constraints) &&
                  only_activates_are_counted(ddr5::constraints),
              "DeviceTiming keeps one ring, for activates");

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

DeviceTiming::DeviceTiming(const Config& config)
    : standard_(config.standard), ranks_(config.ranks), banks_(config.banks) {
  rank_of_.fill(no_rank);
  for (std::uint32_t bank = 0; bank < config.total_banks(); ++bank) {
    rank_of_[bank] = static_cast<std::uint8_t>(bank / config.banks_in_rank());
    group_cell_[bank] = static_cast<std::uint16_t>(group_cells + bank / config.banks * bank_slots);
  }
  const std::span<const Constraint> table = constraints_of(config.standard);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const Constraint& constraint = table[row];
    gaps_[row] = gap_of(constraint, config);
    if (constraint.count == 1) {
      collect_for_ranks(constraint, config);
    } else {
      window_gap_ = gaps_[row];
    }
  }
}

template <const auto& table, std::size_t... command>
void DeviceTiming::issue_one_of(Command which, std::uint32_t bank, Cycle cycle,
                                std::index_sequence<command...>) {
  const auto issue_if = [&]<Command one>() {
    if (which == one) issue<table, one>(bank, cycle);
  };
  (issue_if.template operator()<static_cast<Command>(command)>(), ...);
}

void DeviceTiming::issue(Command command, std::uint32_t bank, Cycle cycle) {
  const auto all_commands = std::make_index_sequence<command_count>{};
  if (standard_ == Standard::ddr4) {
    issue_one_of<ddr4::constraints>(command, bank, cycle, all_commands);
  } else {
    issue_one_of<ddr5::constraints>(command, bank, cycle, all_commands);
  }
}

/// Lists, for each command to a whole rank, what it has to come after.
void DeviceTiming::collect_for_ranks(const Constraint& constraint, const Config& config) {
  if (constraint.scope == Scope::same_bank) return;
  for (const Slot slot : slots_in(constraint.following)) {
    if (is_for_bank(slot)) continue;
    for (std::uint8_t c = 0; c < command_count; ++c) {
      const auto preceding = static_cast<Command>(c);
      if (!constraint.preceding.has(preceding)) continue;
      rank_rules_[static_cast<std::size_t>(slot)].push_back(
          {preceding, constraint.scope == Scope::other_ranks, gap_of(constraint, config)});
    }
  }
}

Cycle DeviceTiming::earliest_for_rank(Slot slot, std::uint32_t rank) const {
  Cycle earliest = 0;
  for (const RankRule& rule : rank_rules_[static_cast<std::size_t>(slot)]) {
    const auto& last = last_[static_cast<std::size_t>(rule.preceding)];
    const auto after = [&](Cycle at) {
      if (at != 0) earliest = std::max(earliest, at + rule.gap);
    };
    if (!rule.other_ranks) {
      after(last[rank]);
      continue;
    }
    for (std::uint32_t other = 0; other < ranks_; ++other) {
      if (other != rank) after(last[other]);
    }
  }
  return earliest;
}

void DeviceTiming::shift(Cycle cycles) {
  for (Cycle& cell : cells_) cell += cycles;
  for (Cycle& cell : auto_precharge_cells_) cell += cycles;
  for (Cycle& cell : refresh_cells_) cell += cycles;
  for (Ring& ring : rings_) {
    for (Cycle& time : ring.release) time += cycles;
  }
  for (auto& ranks : last_) {
    for (Cycle& time : ranks) time += time == 0 ? 0 : cycles;
  }
}

}  // namespace nearfar::sim::dram

#include "sim/dram/device_timing.h"

#include <algorithm>
#include <bit>

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

DeviceTiming::DeviceTiming(const Config& config)
    : ranks_(config.ranks),
      banks_(config.total_banks()),
      rank_bits_(static_cast<std::uint32_t>(std::countr_zero(config.banks_in_rank()))),
      bank_bits_(static_cast<std::uint32_t>(std::countr_zero(config.banks))) {
  for (std::uint8_t command = 0; command < command_count; ++command) {
    for (std::uint32_t bank = 0; bank < banks_; ++bank) {
      rules_of_[command][bank] = collect(static_cast<Command>(command), bank, config);
    }
  }
  for (const Constraint& constraint : ddr4::constraints) {
    if (constraint.count == 1) {
      collect_for_ranks(constraint, config);
    } else {
      window_gap_ = gap_of(constraint, config);
    }
  }
}

/// Lists the cells that `preceding`, issued to this bank, raises. A rank's command is issued
/// to its first bank and raises what it binds in the whole rank.
DeviceTiming::Rules DeviceTiming::collect(Command preceding, std::uint32_t bank,
                                          const Config& config) {
  Rules rules;
  rules.begin = static_cast<std::uint32_t>(rules_.size());
  const std::uint32_t own_rank = bank >> rank_bits_;
  for (const Constraint& constraint : ddr4::constraints) {
    if (!constraint.preceding.has(preceding) || constraint.count > 1) continue;
    const std::uint32_t gap = gap_of(constraint, config);
    for (const Slot slot : slots_in(constraint.following)) {
      const auto index = static_cast<std::uint32_t>(slot);
      if (!is_for_bank(slot)) continue;
      switch (constraint.scope) {
        case Scope::bank:
          rules_.push_back({bank * bank_slots + index, gap});
          break;
        case Scope::bank_group:
          rules_.push_back({group_cells + (bank >> bank_bits_) * bank_slots + index, gap});
          break;
        case Scope::rank:
          rules_.push_back({rank_cell(slot, own_rank), gap});
          break;
        case Scope::other_ranks:
          for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
            if (rank != own_rank) rules_.push_back({rank_cell(slot, rank), gap});
          }
          break;
      }
    }
  }
  rules.end = static_cast<std::uint32_t>(rules_.size());
  return rules;
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

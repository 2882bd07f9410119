#include "sim/dram/device_timing.h"

#include <algorithm>
#include <iterator>

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

void raise(Cycle& earliest, Cycle to) { earliest = std::max(earliest, to); }

}  // namespace

DeviceTiming::DeviceTiming(const Config& config)
    : ranks_(config.ranks),
      groups_(config.bank_groups),
      bank_(std::size_t{config.total_banks()} * bank_slots),
      group_(std::size_t{config.ranks} * config.bank_groups * bank_slots),
      rank_(std::size_t{config.ranks} * rank_slots) {
  for (const Constraint& constraint : ddr4::constraints) add(constraint, config);
}

void DeviceTiming::add(const Constraint& constraint, const Config& config) {
  // Only bus constraints between ranks can come out negative: nothing to wait for then.
  const auto gap =
      static_cast<std::uint32_t>(std::max<std::int64_t>(constraint.gap(config.timing), 0));
  std::uint32_t done = 0;
  for (std::uint8_t f = 0; f < command_count; ++f) {
    const auto following = static_cast<Command>(f);
    if (!constraint.following.has(following)) continue;
    const Slot slot = slot_of(following);
    const auto index = static_cast<std::uint32_t>(slot);
    if ((done >> index & 1u) != 0 || !issues(config, slot)) continue;
    done |= 1u << index;
    for (std::uint8_t p = 0; p < command_count; ++p) {
      const auto preceding = static_cast<Command>(p);
      if (!constraint.preceding.has(preceding)) continue;
      if (constraint.count > 1) {
        windows_.push_back({preceding, index, gap, constraint.count,
                            std::vector<Cycle>(std::size_t{ranks_} * constraint.count),
                            std::vector<std::uint32_t>(ranks_)});
        continue;
      }
      Rules& rules = rules_[p];
      switch (constraint.scope) {
        case Scope::bank: rules.bank.push_back({index, gap}); break;
        case Scope::bank_group: rules.bank_group.push_back({index, gap}); break;
        case Scope::rank:
          (index < bank_slots ? rules.rank_banks : rules.rank).push_back({index, gap});
          break;
        case Scope::other_ranks: rules.other_ranks.push_back({index, gap}); break;
      }
    }
  }
}

void DeviceTiming::raise_rank_banks(std::uint32_t rank, std::uint32_t slot, Cycle cycle) {
  Cycle* group = &group_[std::size_t{rank} * groups_ * bank_slots + slot];
  for (std::uint32_t g = 0; g < groups_; ++g) raise(group[g * bank_slots], cycle);
}

void DeviceTiming::issue(Command command, const Location& at, Cycle cycle) {
  const Rules& rules = rules_[static_cast<std::uint8_t>(command)];
  for (const Rule& rule : rules.bank) {
    raise(bank_[at.bank_index * bank_slots + rule.slot], cycle + rule.gap);
  }
  for (const Rule& rule : rules.bank_group) {
    raise(group_[at.group_index * bank_slots + rule.slot], cycle + rule.gap);
  }
  for (const Rule& rule : rules.rank_banks) {
    raise_rank_banks(at.rank, rule.slot, cycle + rule.gap);
  }
  for (const Rule& rule : rules.rank) {
    raise(rank_[at.rank * rank_slots + rule.slot], cycle + rule.gap);
  }
  if (ranks_ > 1) {
    for (const Rule& rule : rules.other_ranks) {
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (rank != at.rank) raise_rank_banks(rank, rule.slot, cycle + rule.gap);
      }
    }
  }
  for (Window& window : windows_) {
    if (window.preceding != command) continue;
    std::uint32_t& position = window.position[at.rank];
    window.release[at.rank * window.count + position] = cycle + window.gap;
    position = position + 1 == window.count ? 0 : position + 1;
    raise_rank_banks(at.rank, window.slot, window.release[at.rank * window.count + position]);
  }
}

void DeviceTiming::shift(Cycle cycles) {
  for (Cycle& time : bank_) time += cycles;
  for (Cycle& time : group_) time += cycles;
  for (Cycle& time : rank_) time += cycles;
  for (Window& window : windows_) {
    for (Cycle& time : window.release) time += cycles;
  }
}

}  // namespace nearfar::sim::dram

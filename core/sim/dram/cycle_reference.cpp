#include "sim/dram/cycle_reference.h"

namespace nearfar::sim::dram {

CycleReference::CycleReference(const Config& config, const ControllerState& state)
    : config_(config),
      state_(state),
      bank_(config.total_banks()),
      same_banks_(std::size_t{config.ranks} * config.banks),
      group_(std::size_t{config.ranks} * config.bank_groups),
      rank_(config.ranks) {}

std::optional<CycleReference::RankChoice> CycleReference::wanted(std::uint32_t rank,
                                                                 Cycle cycle) const {
  const auto wish = state_.rules.wanted(state_.ranks[rank], rank, state_.open_row, cycle);
  if (!wish) return std::nullopt;
  RankChoice choice{wish->command, {}};
  choice.at.rank = static_cast<std::uint16_t>(rank);
  choice.at.bank = static_cast<std::uint16_t>(wish->bank);
  return choice;
}

std::optional<CycleReference::RankChoice> CycleReference::rank_command(Cycle cycle) const {
  for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
    const std::optional<RankChoice> choice = wanted(rank, cycle);
    if (choice && allowed(choice->command, choice->at, cycle)) return choice;
  }
  return std::nullopt;
}

/// Whether an activate at `cycle` would keep a REFSB of the rank waiting that is wanted by now.
bool CycleReference::would_delay_refresh(const Location& at, Cycle cycle) const {
  const std::optional<RankChoice> choice = wanted(at.rank, cycle);
  if (!choice || choice->command != Command::refsb) return false;
  return allowed(Command::refsb, choice->at, cycle + config_.timing.rrd_l - 1);
}

std::optional<CycleReference::RequestChoice> CycleReference::request_command(Cycle cycle) const {
  const Direction d = state_.direction();
  const RequestQueue& queue = state_.queue(d);
  const bool column_reserved = state_.urgent(d) && state_.hits(queue.oldest()->at) &&
                               state_.available(queue.oldest()->at, cycle);
  for (const bool want_column : {true, false}) {
    for (auto* i = queue.oldest(); i != queue.end(); i = i->younger) {
      const Location& at = i->at;
      if (!state_.available(at, cycle)) continue;
      if (state_.hits(at) != want_column || choice_of_bank(d, at.bank) != i) continue;
      if (want_column && column_reserved && i != queue.oldest()) continue;
      const Command command = state_.needed(d, at);
      if (command == Command::act && would_delay_refresh(at, cycle)) continue;
      if (allowed(command, at, cycle)) return RequestChoice{d, command, i};
    }
  }
  return std::nullopt;
}

const RequestQueue::Entry* CycleReference::choice_of_bank(Direction d, std::uint32_t bank) const {
  const RequestQueue& queue = state_.queue(d);
  if (state_.urgent(d) && queue.oldest()->at.bank == bank) return queue.oldest();
  const RequestQueue::Entry* chosen = nullptr;
  for (const auto* i = queue.oldest(); i != queue.end(); i = i->younger) {
    if (i->at.bank != bank || i->blocked) continue;
    if (state_.hits(i->at)) return i;
    if (chosen == nullptr) chosen = i;
  }
  return chosen;
}

bool CycleReference::allowed(Command command, const Location& at, Cycle cycle) const {
  for (const Constraint& constraint : constraints_of(config_.standard)) {
    if (!constraint.following.has(command)) continue;
    switch (constraint.scope) {
      case Scope::bank:
        if (!satisfied(constraint, bank_[at.bank], cycle)) return false;
        break;
      case Scope::bank_group:
        if (!satisfied(constraint, group_[at.bank / config_.banks], cycle)) return false;
        break;
      case Scope::same_bank:
        if (!satisfied(constraint, same_banks_[same_banks_of(at)], cycle)) return false;
        break;
      case Scope::rank:
        if (!satisfied(constraint, rank_[at.rank], cycle)) return false;
        break;
      case Scope::other_ranks:
        for (std::uint32_t rank = 0; rank < config_.ranks; ++rank) {
          if (rank != at.rank && !satisfied(constraint, rank_[rank], cycle)) return false;
        }
        break;
    }
  }
  return true;
}

bool CycleReference::satisfied(const Constraint& constraint, const Times& times,
                               Cycle cycle) const {
  const std::int64_t gap = constraint.gap(config_.timing);
  for (std::uint8_t p = 0; p < command_count; ++p) {
    if (!constraint.preceding.has(static_cast<Command>(p))) continue;
    const std::optional<Cycle> last = times[p][constraint.count - 1];
    if (last && static_cast<std::int64_t>(cycle - *last) < gap) return false;
  }
  return true;
}

void CycleReference::issue(Command command, const Location& at, Cycle cycle) {
  const auto note = [&](Times& times) {
    auto& last = times[static_cast<std::uint8_t>(command)];
    for (std::size_t i = last.size() - 1; i > 0; --i) last[i] = last[i - 1];
    last[0] = cycle;
  };
  note(rank_[at.rank]);
  if (command == Command::refsb) note(same_banks_[same_banks_of(at)]);
  if (slot_of(command) < Slot::prea) {
    note(bank_[at.bank]);
    note(same_banks_[same_banks_of(at)]);
    note(group_[at.bank / config_.banks]);
  }
}

}  // namespace nearfar::sim::dram

#include "sim/dram/selector.h"

namespace nearfar::sim::dram {

void Selector::update(Direction d, const ControllerState& state, std::uint32_t bank) {
  const RequestQueue& queue = state.queue(d);
  Side& side = this->side(d);
  side.banks_of[side.kinds[bank]] &= ~bit(bank);
  side.kinds[bank] = nothing;
  Entry* chosen = queue.oldest_in_bank(bank);
  if (chosen == queue.end_of(bank)) return;
  const bool others_may_hit = state.open_row[bank] != ControllerState::closed &&
                              !state.hits(bank, *chosen) &&
                              chosen->younger_in_bank != queue.end_of(bank);
  if (others_may_hit || chosen->blocked || state.urgent(d)) chosen = search(d, state, bank);
  if (chosen != nullptr) propose(d, state, bank, *chosen);
}

/// Which request a bank works for, when it is not plainly the oldest of them: the urgent one,
/// else the oldest that hits, else the oldest. Blocked writes do not count.
RequestQueue::Entry* Selector::search(Direction d, const ControllerState& state,
                                      std::uint32_t bank) {
  const RequestQueue& queue = state.queue(d);
  if (state.urgent(d) && queue.oldest()->at.bank == bank) return queue.oldest();
  const Entry* const end = queue.end_of(bank);
  auto* first = queue.oldest_in_bank(bank);
  while (first != end && first->blocked) first = first->younger_in_bank;
  if (first == end) return nullptr;
  if (state.open_row[bank] == ControllerState::closed) return first;
  for (auto* entry = first; entry != end; entry = entry->younger_in_bank) {
    if (!entry->blocked && state.hits(bank, *entry)) return entry;
  }
  return first;
}

void Selector::state(Archive& archive, const ControllerState& state) {
  for (const Direction d : {Direction::read, Direction::write}) {
    Side& side = this->side(d);
    archive(side.banks_of, side.kinds);
    for (std::uint32_t bank = 0; bank < side.kinds.size(); ++bank) {
      if (side.kinds[bank] == nothing) continue;
      Proposal& proposal = side.proposals[bank];
      std::uint32_t age = archive.reads() ? 0 : state.queue(d).age_of(proposal.entry);
      archive(proposal.order, age);
      if (age >= state.queue(d).size()) throw InputError("state: of another model");
      proposal.entry = state.queue(d).by_age(age);
    }
  }
}

}  // namespace nearfar::sim::dram

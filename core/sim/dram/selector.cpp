#include "sim/dram/selector.h"

namespace nearfar::sim::dram {
namespace {

constexpr std::uint64_t bit(std::uint32_t bank) { return std::uint64_t{1} << bank; }

}  // namespace

Choice Selector::select(Direction d, Cycle from, std::uint64_t available) const {
  const auto side = static_cast<unsigned>(d);
  std::uint64_t banks = proposing_[side] & available;
  if (banks == 0) return {};
  if (state_.urgent(d)) banks = without_overtakers(d, banks);

  // Waiting time and order in one number, so that one comparison picks the winner.
  constexpr unsigned order_bits = 40;
  const Proposal* const proposals = proposals_[side].data();
  std::uint64_t best = ~std::uint64_t{0};
  std::uint32_t winner = 0;
  while (banks != 0) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(banks));
    banks &= banks - 1;
    const Proposal& proposal = proposals[bank];
    const Cycle at = ready(proposal);
    const Cycle wait = at > from ? at - from : 0;
    const std::uint64_t rank = (wait << order_bits) | proposal.order;
    winner = rank < best ? bank : winner;
    best = rank < best ? rank : best;
  }
  return choice(d, proposals[winner], from + (best >> order_bits));
}

std::uint64_t Selector::without_overtakers(Direction d, std::uint64_t banks) const {
  const RequestQueue& queue = state_.queue(d);
  const Location& at = queue[queue.oldest()].at;
  if (!state_.hits(at) || (banks & bit(at.bank_index)) == 0) return banks;
  std::uint64_t allowed = 0;
  for (std::uint64_t rest = banks; rest != 0; rest &= rest - 1) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(rest));
    const bool row = proposals_[static_cast<unsigned>(d)][bank].order >= Choice::row_command;
    if (row || bank == at.bank_index) allowed |= bit(bank);
  }
  return allowed;
}

Choice Selector::proposal(Direction d, std::uint32_t bank, Cycle from) const {
  const Proposal& proposal = proposals_[static_cast<unsigned>(d)][bank];
  const Cycle at = ready(proposal);
  return choice(d, proposal, at > from ? at : from);
}

Selector::Change Selector::arrived(Direction d, Index entry) {
  const auto side = static_cast<unsigned>(d);
  const RequestQueue::Entry& request = state_.queue(d)[entry];
  const std::uint32_t bank = request.at.bank_index;
  if (request.blocked) return Change::none;
  if ((proposing_[side] & bit(bank)) == 0) {
    propose(d, bank, entry);
    return Change::first;
  }
  // The youngest request only matters to its bank when it brings the first hit.
  const bool row = proposals_[side][bank].order >= Choice::row_command;
  if (!row || !state_.hits(request.at)) return Change::none;
  update(d, bank);
  return Change::replaced;
}

void Selector::update(Direction d, std::uint32_t bank) {
  const RequestQueue& queue = state_.queue(d);
  Index i = queue.oldest_in_bank(bank);
  if (i == RequestQueue::none) {
    proposing_[static_cast<unsigned>(d)] &= ~bit(bank);
    return;
  }
  if (state_.urgent(d) && queue[queue.oldest()].at.bank_index == bank) {
    propose(d, bank, queue.oldest());
    return;
  }
  const std::int64_t open = state_.open_row[bank];
  Index oldest = RequestQueue::none;
  for (; i != RequestQueue::none; i = queue[i].younger_in_bank) {
    const RequestQueue::Entry& request = queue[i];
    if (request.blocked) continue;
    if (request.at.row == open) {
      propose(d, bank, i);
      return;
    }
    if (oldest == RequestQueue::none) {
      oldest = i;
      if (open == ControllerState::closed) break;
    }
  }
  if (oldest == RequestQueue::none) {
    proposing_[static_cast<unsigned>(d)] &= ~bit(bank);
  } else {
    propose(d, bank, oldest);
  }
}

void Selector::propose(Direction d, std::uint32_t bank, Index entry) {
  const auto side = static_cast<unsigned>(d);
  const RequestQueue::Entry& request = state_.queue(d)[entry];
  const Command command = state_.needed(d, request.at);
  const Slot slot = slot_of(command);
  const bool row = slot == Slot::act || slot == Slot::pre;
  Proposal& proposal = proposals_[side][bank];
  proposal.order = request.order | (row ? Choice::row_command : 0);
  proposal.bank_offset = static_cast<std::uint16_t>(DeviceTiming::bank_offset(bank, slot));
  proposal.group_offset =
      static_cast<std::uint16_t>(DeviceTiming::bank_offset(request.at.group_index, slot));
  proposal.entry = entry;
  proposal.command = command;
  proposing_[side] |= bit(bank);
}

}  // namespace nearfar::sim::dram

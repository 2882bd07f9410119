#include "sim/dram/selector.h"

namespace nearfar::sim::dram {
namespace {

constexpr std::uint64_t bit(std::uint32_t bank) { return std::uint64_t{1} << bank; }

}  // namespace

inline void Selector::compare(const Side& side, std::uint64_t banks, Slot slot, Cycle from,
                              Best& best) const {
  for (; banks != 0; banks &= banks - 1) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(banks));
    const Cycle at = timing_.earliest_at_bank(slot, bank);
    const Cycle wait = at > from ? at - from : 0;
    const std::uint64_t rank = (wait << Best::order_bits) | side.proposals[bank].order;
    best.bank = rank < best.rank ? bank : best.bank;
    best.rank = rank < best.rank ? rank : best.rank;
  }
}

Choice Selector::select(Direction d, Cycle from, std::uint64_t available) const {
  const Side& side = this->side(d);
  std::uint64_t columns = side.banks_of[column] & available;
  if (state_.urgent(d)) {
    const std::uint64_t urgent = bit(state_.queue(d)[state_.queue(d).oldest()].at.bank_index);
    if ((columns & urgent) != 0) columns = urgent;
  }
  Best best;
  Kind kind = column;
  compare(side, columns, d == Direction::read ? Slot::rd : Slot::wr, from, best);
  if (const std::uint64_t precharges = side.banks_of[precharge] & available; precharges != 0) {
    const std::uint64_t before = best.rank;
    compare(side, precharges, Slot::pre, from, best);
    if (best.rank != before) kind = precharge;
  }
  // Activates often all wait for the same tFAW: one look then spares looking at each.
  const std::uint64_t activates = side.banks_of[activate] & available;
  if (activates != 0 && timing_.floor(Slot::act) <= from + best.wait()) {
    const std::uint64_t before = best.rank;
    compare(side, activates, Slot::act, from, best);
    if (best.rank != before) kind = activate;
  }
  if (best.rank == no_rank) return {};
  return choice(d, best.bank, kind, from + best.wait());
}

Selector::Kind Selector::kind_of(Direction d, std::uint32_t bank) const {
  if ((side(d).banks_of[column] & bit(bank)) != 0) return column;
  return (side(d).banks_of[activate] & bit(bank)) != 0 ? activate : precharge;
}

Choice Selector::proposal(Direction d, std::uint32_t bank, Cycle from) const {
  const Kind kind = kind_of(d, bank);
  const Slot slot = slot_of(command_of(d, kind));
  const Cycle at = timing_.earliest_at_bank(slot, bank);
  return choice(d, bank, kind, at > from ? at : from);
}

Selector::Change Selector::arrived(Direction d, Index entry) {
  const RequestQueue::Entry& request = state_.queue(d)[entry];
  if (request.blocked) return Change::none;
  const std::uint32_t bank = request.at.bank_index;
  const Side& side = this->side(d);
  const std::uint64_t rows = side.banks_of[activate] | side.banks_of[precharge];
  if (((side.banks_of[column] | rows) & bit(bank)) == 0) {
    const bool closed = state_.open_row[bank] == ControllerState::closed;
    propose(d, bank, entry, closed ? activate : state_.hits(request.at) ? column : precharge);
    return Change::first;
  }
  // The youngest request only matters to its bank when it brings the first hit.
  if ((rows & bit(bank)) == 0 || !state_.hits(request.at)) return Change::none;
  update(d, bank);
  return Change::replaced;
}

void Selector::update(Direction d, std::uint32_t bank) {
  const RequestQueue& queue = state_.queue(d);
  Index i = queue.oldest_in_bank(bank);
  if (i == RequestQueue::none) {
    withdraw(d, bank);
    return;
  }
  const std::int64_t open = state_.open_row[bank];
  if (state_.urgent(d) && queue[queue.oldest()].at.bank_index == bank) {
    i = queue.oldest();
    propose(d, bank, i,
            open == ControllerState::closed ? activate
            : open == queue[i].at.row       ? column
                                            : precharge);
    return;
  }
  Index oldest = RequestQueue::none;
  for (; i != RequestQueue::none; i = queue[i].younger_in_bank) {
    const RequestQueue::Entry& request = queue[i];
    if (request.blocked) continue;
    if (request.at.row == open) {
      propose(d, bank, i, column);
      return;
    }
    if (oldest == RequestQueue::none) {
      oldest = i;
      if (open == ControllerState::closed) break;
    }
  }
  if (oldest == RequestQueue::none) {
    withdraw(d, bank);
  } else {
    propose(d, bank, oldest, open == ControllerState::closed ? activate : precharge);
  }
}

void Selector::withdraw(Direction d, std::uint32_t bank) {
  for (std::uint64_t& banks : side(d).banks_of) banks &= ~bit(bank);
}

void Selector::propose(Direction d, std::uint32_t bank, Index entry, Kind kind) {
  withdraw(d, bank);
  Side& side = this->side(d);
  side.banks_of[kind] |= bit(bank);
  side.proposals[bank] = {
      state_.queue(d)[entry].order | (kind == column ? 0 : Choice::row_command), entry};
}

}  // namespace nearfar::sim::dram

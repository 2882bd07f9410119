#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "sim/dram/controller_state.h"
#include "sim/dram/device_timing.h"

namespace nearfar::sim::dram {

/// Finds the next command for a request by keeping, per bank and direction, the command that
/// the bank proposes. A proposal changes only when a request of its bank comes or goes or its
/// row opens or closes; what timing says about it is read when proposals are compared.
///
/// This is where most of a simulation's instructions go. The callers name the direction as a
/// constant and everything is inlined into them.
class Selector {
 public:
  using Index = RequestQueue::Index;

  explicit Selector(const Config& config) : ranks_(config.ranks) {
    for (std::uint32_t bank = 0; bank < config.total_banks(); ++bank) {
      banks_of_rank_[bank / config.banks_in_rank()] |= bit(bank);
    }
  }

  /// The best command, at `from` or later, among banks in `available`.
  [[nodiscard]] Choice select(Direction d, const ControllerState& state, const DeviceTiming& timing,
                              Cycle from, std::uint64_t available) const;

  /// What the bank proposes, at `from` or later.
  [[nodiscard]] Choice choice_of(Direction d, const DeviceTiming& timing, std::uint32_t bank,
                                 Cycle from) const;

  /// What an arrival changed.
  enum class Change : std::uint8_t { none, first, replaced };

  /// A request was queued.
  [[gnu::always_inline]] Change arrived(Direction d, const ControllerState& state, Index entry) {
    const RequestQueue::Entry& request = state.queue(d)[entry];
    const Side& side = this->side(d);
    const std::uint64_t rows = side.banks_of[activate] | side.banks_of[precharge];
    if (((side.banks_of[column] | rows) >> request.at.bank & 1) != 0) {
      // The youngest request only matters to its bank when it brings the first hit.
      if ((rows >> request.at.bank & 1) == 0 || !state.hits(request.at)) return Change::none;
      if (request.blocked) return Change::none;
      update(d, state, request.at.bank);
      return Change::replaced;
    }
    if (request.blocked) return Change::none;
    update(d, state, request.at.bank);
    return Change::first;
  }

  /// Works out anew what a bank proposes.
  void update(Direction d, const ControllerState& state, std::uint32_t bank) {
    Side& side = this->side(d);
    const std::uint64_t others = ~bit(bank);
    side.banks_of[column] &= others;
    side.banks_of[activate] &= others;
    side.banks_of[precharge] &= others;
    const RequestQueue& queue = state.queue(d);
    Index chosen = queue.oldest_in_bank(bank);
    if (chosen == RequestQueue::none) return;
    const std::int64_t open = state.open_row[bank];
    const RequestQueue::Entry& oldest = queue[chosen];
    const bool others_may_hit = open != ControllerState::closed && open != oldest.at.row &&
                                oldest.younger_in_bank != RequestQueue::none;
    if (others_may_hit || oldest.blocked || state.urgent(d)) {
      chosen = search(d, state, bank);
      if (chosen == RequestQueue::none) return;
    }
    std::uint64_t order = queue[chosen].order;
    Kind kind = column;
    if (queue[chosen].at.row != open) {
      kind = open == ControllerState::closed ? activate : precharge;
      order |= Choice::row_command;
    }
    side.banks_of[kind] |= ~others;
    side.proposals[bank] = {order, chosen, kind};
  }

  enum Kind : std::uint16_t { column, activate, precharge };

  struct Proposal {
    std::uint64_t order = 0;
    Index entry = RequestQueue::none;
    Kind kind = column;
  };
  /// Of a bank that proposes something.
  [[nodiscard]] const Proposal& proposal(Direction d, std::uint32_t bank) const {
    return side(d).proposals[bank];
  }

  /// The bank's proposed row command was issued: it goes on with the same request. What the
  /// other direction wants of the bank may have changed.
  void row_issued(Direction d, const ControllerState& state, std::uint32_t bank) {
    Side& side = this->side(d);
    Proposal& proposal = side.proposals[bank];
    side.banks_of[proposal.kind] ^= bit(bank);
    if (proposal.kind == activate) {
      proposal.kind = column;
      proposal.order ^= Choice::row_command;
    } else {
      proposal.kind = activate;
    }
    side.banks_of[proposal.kind] ^= bit(bank);
    const Side& other = this->side(opposite(d));
    const std::uint64_t banks =
        other.banks_of[column] | other.banks_of[activate] | other.banks_of[precharge];
    if ((banks & bit(bank)) != 0) update(opposite(d), state, bank);
  }

 private:
  /// One direction's proposals.
  struct Side {
    std::array<std::uint64_t, 3> banks_of{};  ///< by kind: the banks that propose it, a bit each
    std::array<Proposal, 64> proposals;       ///< by bank
  };

  /// The best proposal so far.
  struct Best {
    Cycle cycle = never;
    std::uint64_t order = 0;
    std::uint32_t bank = 0;
  };

  [[nodiscard]] static constexpr std::uint64_t bit(std::uint32_t bank) {
    return std::uint64_t{1} << bank;
  }
  [[nodiscard]] Side& side(Direction d) { return sides_[static_cast<unsigned>(d)]; }
  [[nodiscard]] const Side& side(Direction d) const { return sides_[static_cast<unsigned>(d)]; }

  [[nodiscard]] static Index search(Direction d, const ControllerState& state, std::uint32_t bank);

  template <Slot slot>
  void compare(const Side& side, std::uint64_t head, const DeviceTiming& timing,
               std::uint64_t banks, Cycle from, Best& best) const;
  template <Slot slot>
  void compare_quickly(const Side& side, std::uint64_t head, const DeviceTiming& timing,
                       std::uint64_t banks, Cycle from, Best& best) const;
  template <Slot slot>
  static void compare_in_rank(const Side& side, std::uint64_t head, const DeviceTiming& timing,
                              std::uint64_t banks, Cycle from, Best& best);
  [[nodiscard]] static std::uint32_t oldest_of(const Side& side, std::uint64_t banks);

  std::uint32_t ranks_;
  std::array<std::uint64_t, 4> banks_of_rank_{};
  std::array<Side, 2> sides_;
};

/// The bank, of several, whose proposal is for the oldest request.
inline std::uint32_t Selector::oldest_of(const Side& side, std::uint64_t banks) {
  std::uint32_t oldest = 0;
  std::uint64_t order = ~std::uint64_t{0};
  for (; banks != 0; banks &= banks - 1) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(banks));
    oldest = side.proposals[bank].order < order ? bank : oldest;
    order = side.proposals[oldest].order;
  }
  return oldest;
}

/// Compares banks of one rank that, as far as the rank binds them, may go at `from`.
/// `head` is the bank that proposes for the oldest request of all, if one does.
template <Slot slot>
void Selector::compare_in_rank(const Side& side, std::uint64_t head, const DeviceTiming& timing,
                               std::uint64_t banks, Cycle from, Best& best) {
  if constexpr (slot != Slot::pre) {
    // What binds these commands most is what they share: as a rule the oldest may go at once.
    const std::uint32_t bank = (banks & head) != 0
                                   ? static_cast<std::uint32_t>(std::countr_zero(head))
                                   : oldest_of(side, banks);
    const std::uint64_t order = side.proposals[bank].order;
    if (timing.earliest_at_bank(slot, bank) <= from) {
      if (from < best.cycle || order < best.order) best = {from, order, bank};
      return;
    }
  }
  for (; banks != 0; banks &= banks - 1) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(banks));
    Cycle at = timing.earliest_at_bank(slot, bank);
    if (at > best.cycle) continue;
    at = at < from ? from : at;
    const std::uint64_t order = side.proposals[bank].order;
    if (at == best.cycle && order >= best.order) continue;
    best = {at, order, bank};
  }
}

inline Choice Selector::choice_of(Direction d, const DeviceTiming& timing, std::uint32_t bank,
                                  Cycle from) const {
  const Proposal& proposal = side(d).proposals[bank];
  const Slot slot = proposal.kind == activate    ? Slot::act
                    : proposal.kind == precharge ? Slot::pre
                    : d == Direction::read       ? Slot::rd
                                                 : Slot::wr;
  const Cycle bank_at = timing.earliest_at_bank(slot, bank);
  const Cycle rank_at = timing.earliest_in_rank(slot, timing.rank_of(bank));
  return {std::max({from, bank_at, rank_at}), proposal.order, bank, d};
}

template <Slot slot>
[[gnu::always_inline]] inline void Selector::compare(const Side& side, std::uint64_t head,
                                                     const DeviceTiming& timing,
                                                     std::uint64_t banks, Cycle from,
                                                     Best& best) const {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t here = banks & banks_of_rank_[rank];
    const Cycle first = std::max(from, timing.earliest_in_rank(slot, rank));
    if (here != 0 && first <= best.cycle) {
      compare_in_rank<slot>(side, head, timing, here, first, best);
    }
  }
}

/// With one rank, as a rule, the oldest request of all may go as soon as any can: no need then
/// to look at the others of its kind.
template <Slot slot>
[[gnu::always_inline]] inline void Selector::compare_quickly(const Side& side, std::uint64_t head,
                                                             const DeviceTiming& timing,
                                                             std::uint64_t banks, Cycle from,
                                                             Best& best) const {
  if (ranks_ == 1 && (banks & head) != 0) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(head));
    const Cycle allowed = timing.earliest_in_rank(slot, 0);
    const Cycle first = allowed < from ? from : allowed;
    if (timing.earliest_at_bank(slot, bank) <= first) {
      best = {first, side.proposals[bank].order, bank};
      return;
    }
  }
  compare<slot>(side, head, timing, banks, from, best);
}

[[gnu::always_inline]] inline Choice Selector::select(Direction d, const ControllerState& state,
                                                      const DeviceTiming& timing, Cycle from,
                                                      std::uint64_t available) const {
  const Side& side = this->side(d);
  std::uint64_t columns = side.banks_of[column] & available;
  const std::uint64_t precharges = side.banks_of[precharge] & available;
  const std::uint64_t activates = side.banks_of[activate] & available;
  const std::uint64_t proposing = columns | precharges | activates;
  if ((proposing & (proposing - 1)) == 0) {
    if (proposing == 0) return {};
    return choice_of(d, timing, static_cast<std::uint32_t>(std::countr_zero(proposing)), from);
  }
  Best best;
  const RequestQueue& queue = state.queue(d);
  const std::uint32_t oldest_bank = queue[queue.oldest()].at.bank;
  const bool proposed = side.proposals[oldest_bank].entry == queue.oldest();
  const std::uint64_t head = proposed ? bit(oldest_bank) : 0;
  if (columns != 0) {
    if (state.urgent(d) && (columns & head) != 0) columns = head;
    if (d == Direction::read) {
      compare_quickly<Slot::rd>(side, head, timing, columns, from, best);
    } else {
      compare_quickly<Slot::wr>(side, head, timing, columns, from, best);
    }
  }
  if (best.cycle == from) return {best.cycle, best.order, best.bank, d};
  if (precharges != 0) compare<Slot::pre>(side, head, timing, precharges, from, best);
  if (activates != 0) compare<Slot::act>(side, head, timing, activates, from, best);
  return {best.cycle, best.order, best.bank, d};
}

}  // namespace nearfar::sim::dram

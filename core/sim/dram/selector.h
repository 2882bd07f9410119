#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/archive.h"
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
  using Entry = RequestQueue::Entry;

  explicit Selector(const Config& config) : ranks_(config.ranks) {
    for (std::uint32_t bank = 0; bank < config.total_banks(); ++bank) {
      banks_of_rank_[bank / config.banks_in_rank()] |= bit(bank);
    }
  }

  /// The best command, at `from` or later, among banks in `available`.
  [[nodiscard]] Choice select(Direction d, const ControllerState& state, const DeviceTiming& timing,
                              Cycle from, std::uint64_t available) const;

  /// The same where it is plain to see: the oldest request of all hits, and no other command
  /// could go sooner, or there is none. Else a choice of `never`.
  [[nodiscard]] Choice select_oldest(Direction d, const ControllerState& state,
                                     const DeviceTiming& timing, Cycle from,
                                     std::uint64_t available) const;

  /// What the bank proposes, at `from` or later.
  [[nodiscard]] Choice choice_of(Direction d, const DeviceTiming& timing, std::uint32_t bank,
                                 Cycle from) const;

  /// What an arrival changed.
  enum class Change : std::uint8_t { none, first, replaced };

  /// A request was queued.
  [[gnu::always_inline]] Change arrived(Direction d, const ControllerState& state, Entry& request) {
    const Kind kind = side(d).kinds[request.at.bank];
    // The youngest request only matters to its bank when it brings the first hit.
    if (kind == column || request.blocked) return Change::none;
    if (kind == nothing) {
      propose(d, state, request.at.bank, request);
      return Change::first;
    }
    if (!state.hits(request.at)) return Change::none;
    update(d, state, request.at.bank);
    return Change::replaced;
  }

  /// Works out anew what a bank proposes.
  void update(Direction d, const ControllerState& state, std::uint32_t bank);

  /// The same after the column command that the bank proposed.
  [[gnu::always_inline]] void column_issued(Direction d, const ControllerState& state,
                                            std::uint32_t bank) {
    Entry* const next = state.queue(d).oldest_in_bank(bank);
    Side& side = this->side(d);
    if (state.hits(bank, *next) && !next->blocked && !state.urgent(d)) {
      side.proposals[bank] = {next->order, next};
    } else if (next == state.queue(d).end_of(bank)) {
      side.banks_of[column] ^= bit(bank);
      side.kinds[bank] = nothing;
    } else {
      update(d, state, bank);
    }
  }

  /// The same after the row command that the bank proposed: it goes on with the same request.
  /// What the other direction wants of the bank may have changed.
  template <Command command>
  [[gnu::always_inline]] void row_issued(Direction d, const ControllerState& state,
                                         std::uint32_t bank) {
    constexpr Kind issued = command == Command::act ? activate : precharge;
    constexpr Kind next = command == Command::act ? column : activate;
    Side& side = this->side(d);
    side.banks_of[issued] ^= bit(bank);
    side.banks_of[next] ^= bit(bank);
    side.kinds[bank] = next;
    if (next == column) side.proposals[bank].order ^= Choice::row_command;
    if (this->side(opposite(d)).kinds[bank] != nothing) update(opposite(d), state, bank);
  }

  enum Kind : std::uint8_t { column, activate, precharge, nothing };

  [[nodiscard]] Kind kind(Direction d, std::uint32_t bank) const { return side(d).kinds[bank]; }
  /// For which request, and its order among choices of one cycle, of which the lowest wins.
  [[nodiscard]] Entry* entry(Direction d, std::uint32_t bank) const {
    return side(d).proposals[bank].entry;
  }
  [[nodiscard]] std::uint64_t order(Direction d, std::uint32_t bank) const {
    return side(d).proposals[bank].order;
  }

  /// `state` has been written or read before.
  void state(Archive& archive, const ControllerState& state);

 private:
  struct Proposal {
    std::uint64_t order = 0;
    Entry* entry = nullptr;
  };
  /// One direction's proposals.
  struct Side {
    Side() { kinds.fill(nothing); }

    std::array<std::uint64_t, 4> banks_of{};  ///< by kind: the banks that propose it, a bit each
    std::array<Kind, 64> kinds;               ///< by bank
    std::array<Proposal, 64> proposals;       ///< by bank that proposes something
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
  /// The bank, which proposed nothing, works for the request.
  void propose(Direction d, const ControllerState& state, std::uint32_t bank, Entry& request) {
    const Kind kind = state.hits(bank, request)                         ? column
                      : state.open_row[bank] == ControllerState::closed ? activate
                                                                        : precharge;
    Side& side = this->side(d);
    side.banks_of[kind] |= bit(bank);
    side.kinds[bank] = kind;
    side.proposals[bank] = {request.order | (kind == column ? 0 : Choice::row_command), &request};
  }
  [[nodiscard]] Side& side(Direction d) { return sides_[static_cast<unsigned>(d)]; }
  [[nodiscard]] const Side& side(Direction d) const { return sides_[static_cast<unsigned>(d)]; }

  [[nodiscard]] static Entry* search(Direction d, const ControllerState& state, std::uint32_t bank);

  template <Slot slot>
  void compare(const Side& side, const Entry* head, const DeviceTiming& timing, std::uint64_t banks,
               Cycle from, Best& best) const;
  template <Slot slot>
  static void compare_in_rank(const Side& side, const Entry* head, const DeviceTiming& timing,
                              std::uint64_t banks, Cycle from, Best& best);
  [[nodiscard]] static std::uint32_t oldest_of(const Side& side, const Entry* head,
                                               std::uint64_t banks);
  [[nodiscard]] static std::uint32_t oldest_of_many(const Side& side, const Entry* head,
                                                    std::uint64_t banks);

  std::uint32_t ranks_;
  std::array<std::uint64_t, 4> banks_of_rank_{};
  std::array<Side, 2> sides_;
};

/// The bank, of several, whose proposal is for the oldest request; `head` is the oldest of all.
inline std::uint32_t Selector::oldest_of(const Side& side, const Entry* head, std::uint64_t banks) {
  std::uint32_t oldest = head->at.bank;
  if ((banks & bit(oldest)) != 0 && side.proposals[oldest].entry == head) return oldest;
  std::uint64_t order = ~std::uint64_t{0};
  for (; banks != 0; banks &= banks - 1) {
    const auto bank = static_cast<std::uint32_t>(std::countr_zero(banks));
    oldest = side.proposals[bank].order < order ? bank : oldest;
    order = side.proposals[oldest].order;
  }
  return oldest;
}

/// The same where many banks wait and one of the first few requests is as a rule what one of them
/// works for.
inline std::uint32_t Selector::oldest_of_many(const Side& side, const Entry* head,
                                              std::uint64_t banks) {
  while ((banks & bit(head->at.bank)) == 0 || side.proposals[head->at.bank].entry != head) {
    head = head->younger;
  }
  return head->at.bank;
}

/// Compares banks of one rank that, as far as the rank binds them, may go at `from`.
/// `head` is the oldest request of all.
template <Slot slot>
void Selector::compare_in_rank(const Side& side, const Entry* head, const DeviceTiming& timing,
                               std::uint64_t banks, Cycle from, Best& best) {
  if constexpr (slot != Slot::pre) {
    // What binds these commands most is what they share: as a rule the oldest may go at once.
    const std::uint32_t bank =
        slot == Slot::act ? oldest_of_many(side, head, banks) : oldest_of(side, head, banks);
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

[[gnu::always_inline]] inline Choice Selector::choice_of(Direction d, const DeviceTiming& timing,
                                                         std::uint32_t bank, Cycle from) const {
  const Kind kind = side(d).kinds[bank];
  const Slot slot = kind == activate       ? Slot::act
                    : kind == precharge    ? Slot::pre
                    : d == Direction::read ? Slot::rd
                                           : Slot::wr;
  const Cycle bank_at = timing.earliest_at_bank(slot, bank);
  const Cycle rank_at = timing.earliest_in_rank(slot, timing.rank_of(bank));
  return {std::max(from, std::max(bank_at, rank_at)), bank, d};
}

[[gnu::always_inline]] inline Choice Selector::select_oldest(Direction d,
                                                             const ControllerState& state,
                                                             const DeviceTiming& timing, Cycle from,
                                                             std::uint64_t available) const {
  const Side& side = this->side(d);
  const Entry* const oldest = state.queue(d).oldest();
  const std::uint32_t bank = oldest->at.bank;
  if ((side.banks_of[column] & available & bit(bank)) == 0) return {};
  if (side.proposals[bank].entry != oldest) return {};
  const Slot slot = d == Direction::read ? Slot::rd : Slot::wr;
  const Cycle allowed = timing.earliest_in_rank(slot, timing.rank_of(bank));
  const Cycle first = allowed < from ? from : allowed;
  const std::uint64_t rows = side.banks_of[activate] | side.banks_of[precharge];
  const bool rows_wait = rows != 0;
  const Cycle bank_at = timing.earliest_at_bank(slot, bank);
  if (bank_at > first) {
    // It still is the best where there is no other.
    const std::uint64_t others = (rows | side.banks_of[column]) & available & ~bit(bank);
    return others == 0 ? Choice{bank_at, bank, d} : Choice{};
  }
  if (first != from && (rows_wait || ranks_ > 1)) return {};
  return {first, bank, d};
}

template <Slot slot>
[[gnu::always_inline]] inline void Selector::compare(const Side& side, const Entry* head,
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
  const Entry* const head = state.queue(d).oldest();
  if (columns != 0) {
    const std::uint64_t first = bit(head->at.bank);
    if (state.urgent(d) && (columns & first) != 0 && side.proposals[head->at.bank].entry == head)
        [[unlikely]] {
      columns = first;
    }
    if (d == Direction::read) {
      compare<Slot::rd>(side, head, timing, columns, from, best);
    } else {
      compare<Slot::wr>(side, head, timing, columns, from, best);
    }
    if (best.cycle == from) return {best.cycle, best.bank, d};
  }
  if (precharges != 0) compare<Slot::pre>(side, head, timing, precharges, from, best);
  if (activates != 0) compare<Slot::act>(side, head, timing, activates, from, best);
  return {best.cycle, best.bank, d};
}

}  // namespace nearfar::sim::dram

#pragma once

#include <cstdint>
#include <vector>

#include "sim/dram/ddr4.h"
#include "sim/dram/mapping.h"

namespace nearfar::sim::dram {

/// Commands that obey the same constraints share a slot: an auto-precharge restricts what
/// follows a column command, not what it follows.
enum class Slot : std::uint8_t { act, pre, rd, wr, prea, ref, pde, pdx, sre, srx };

[[nodiscard]] constexpr Slot slot_of(Command command) {
  constexpr Slot slots[] = {Slot::act, Slot::pre, Slot::prea, Slot::rd,  Slot::rd,  Slot::wr,
                            Slot::wr,  Slot::ref, Slot::pde,  Slot::pdx, Slot::sre, Slot::srx};
  return slots[static_cast<std::uint8_t>(command)];
}

/// When each command may next be issued, kept up to date from the constraint table.
///
/// A cell holds the earliest cycle of one slot's commands as far as one bank, one bank group
/// or one rank binds them; a command may go when all that bind it have passed. What each
/// command raises is worked out from the table at construction, per bank; rows whose later
/// command this channel never issues are left out.
class DeviceTiming {
 public:
  static constexpr std::uint32_t bank_slots = 4;   ///< act, pre, rd, wr: to one bank
  static constexpr std::uint32_t rank_slots = 10;  ///< those, and the others: to a whole rank

  explicit DeviceTiming(const Config& config);

  /// Earliest cycle for a command to a bank; `slot` is one of the first four.
  [[nodiscard]] Cycle earliest_at_bank(Slot slot, std::uint32_t bank_index) const {
    const Place& place = places_[bank_index];
    const auto index = static_cast<std::uint32_t>(slot);
    const Cycle bank = cells_[bank_index * bank_slots + index];
    const Cycle group = cells_[place.group + index];
    const Cycle rank = cells_[place.rank + index];
    const Cycle shared = group < rank ? rank : group;
    return bank < shared ? shared : bank;
  }

  /// What the rank alone says about a command to it or to one of its banks.
  [[nodiscard]] Cycle earliest_at_rank(Slot slot, std::uint32_t rank) const {
    return cells_[rank_cells_ + rank * rank_slots + static_cast<std::uint32_t>(slot)];
  }

  /// No rank allows a command of `slot` before this.
  [[nodiscard]] Cycle floor(Slot slot) const {
    Cycle floor = earliest_at_rank(slot, 0);
    for (std::uint32_t rank = 1; rank < ranks_; ++rank) {
      const Cycle at = earliest_at_rank(slot, rank);
      floor = at < floor ? at : floor;
    }
    return floor;
  }

  /// `command` goes out at `cycle`. For a rank's command the bank is the rank's first.
  void issue(Command command, std::uint32_t bank_index, Cycle cycle);

  /// Moves everything `cycles` into the future: idle time in which the same commands repeat.
  void shift(Cycle cycles);

 private:
  struct Rule {
    std::uint32_t cell;
    std::uint32_t gap;
  };
  struct Rules {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// First cells of a bank's bank group and rank.
  struct Place {
    std::uint32_t group;
    std::uint32_t rank;
  };
  /// A rule that counts back several commands: a ring, per rank, of when each frees the next.
  struct Window {
    Command preceding;
    std::uint32_t slot;
    std::uint32_t gap;
    std::uint32_t count;
    std::vector<Cycle> release;           ///< [rank][count]
    std::vector<std::uint32_t> position;  ///< [rank]: the oldest
  };

  void collect(Command preceding, std::uint32_t bank_index, const Config& config);
  void add_windows(const Config& config);

  std::uint32_t ranks_;
  std::uint32_t banks_;  ///< of all ranks
  std::uint32_t rank_cells_;
  std::vector<Cycle> cells_;  ///< [bank][4], then [bank group][4], then [rank][10]
  std::vector<Place> places_;  ///< by bank
  std::vector<Rule> rules_;
  std::vector<Rules> rules_of_;  ///< [command][bank]
  std::vector<Window> windows_;
};

}  // namespace nearfar::sim::dram

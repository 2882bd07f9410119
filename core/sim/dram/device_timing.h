#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "sim/dram/ddr4.h"
#include "sim/dram/ddr5.h"
#include "sim/dram/mapping.h"

namespace nearfar::sim::dram {

/// Commands that obey the same constraints share a slot: an auto-precharge restricts what
/// follows a column command, not what it follows.
enum class Slot : std::uint8_t { act, pre, rd, wr, prea, ref, refsb, pde, pdx, sre, srx };

[[nodiscard]] constexpr Slot slot_of(Command command) {
  constexpr Slot slots[] = {Slot::act, Slot::pre, Slot::prea, Slot::rd,    Slot::rd,
                            Slot::wr,  Slot::wr,  Slot::ref,  Slot::refsb, Slot::pde,
                            Slot::pdx, Slot::sre, Slot::srx};
  return slots[static_cast<std::uint8_t>(command)];
}

/// The standard's table: what one command must keep from another.
[[nodiscard]] constexpr std::span<const Constraint> constraints_of(Standard standard) {
  if (standard == Standard::ddr4) return ddr4::constraints;
  return ddr5::constraints;
}

/// When each command may next be issued, kept up to date from the standard's table.
///
/// A cell holds the earliest cycle of one slot's commands to a bank, as far as the bank, its
/// bank group or its rank binds them; a command may go when all three have passed. Which cells
/// a command raises the compiler works out from the table. Commands to whole ranks are rare:
/// what binds them is looked up, when asked for, from when each command last went to the rank.
class DeviceTiming {
 public:
  static constexpr std::uint32_t bank_slots = 4;  ///< act, pre, rd, wr: to one bank
  static constexpr std::uint32_t all_slots = 11;  ///< those, and the others: to a whole rank
  static constexpr std::uint32_t window = 4;      ///< activates that tFAW counts

  explicit DeviceTiming(const Config& config);

  /// Earliest cycle for a command to a bank as far as the bank and its bank group bind it;
  /// earliest_in_rank() says the rest. `slot` is one of the first four.
  [[nodiscard]] Cycle earliest_at_bank(Slot slot, std::uint32_t bank) const {
    const auto index = static_cast<std::uint32_t>(slot);
    const Cycle own = cells_[bank * bank_slots + index];
    if (slot == Slot::pre) return own;  // bank groups do not bind it
    const Cycle group = cells_[group_cell_[bank] + index];
    return own < group ? group : own;
  }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t bank) const { return rank_of_[bank]; }
  /// Earliest cycle for a command to any bank of a rank as far as the rank binds it.
  [[nodiscard]] Cycle earliest_in_rank(Slot slot, std::uint32_t rank) const {
    return cells_[rank_cell(slot, rank)];
  }
  /// Earliest cycle for a command to a rank; `slot` is one of the others. What else binds a
  /// REFSB, earliest_refresh_of() says.
  [[nodiscard]] Cycle earliest_for_rank(Slot slot, std::uint32_t rank) const;
  /// Earliest cycle for a REFSB as far as the banks bind it that have the number of `bank`.
  [[nodiscard]] Cycle earliest_refresh_of(std::uint32_t bank) const {
    return refresh_cells_[same_bank_cell(bank)];
  }
  /// Earliest cycle for a read of the bank that precharges it as well, which may be later than
  /// that of a plain one.
  [[nodiscard]] Cycle earliest_auto_precharge(std::uint32_t bank) const {
    return auto_precharge_cells_[bank];
  }

  /// No activate of the rank goes out before `until`.
  void hold_activates(std::uint32_t rank, Cycle until) {
    raise(cells_[rank_cell(Slot::act, rank)], until);
  }

  /// `command` goes out at `cycle` > 0, of a channel whose standard has this table. For a
  /// rank's command the bank is the rank's first; for a REFSB, the first of its banks.
  template <const auto& table, Command command>
  [[gnu::always_inline]] void issue(std::uint32_t bank, Cycle cycle) {
    const std::uint32_t rank = rank_of(bank);
    last_[static_cast<std::size_t>(command)][rank] = cycle;
    const Cells cells{bank * bank_slots, group_cell_[bank], rank_cells + rank * bank_slots};
    const auto all_rows = std::make_index_sequence<std::size(table)>{};
    apply_all<table, command>(cells, Place{bank, rank}, cycle, all_rows);
    if constexpr (command == Command::act) count_activate(rank, cycle);
  }
  /// The same for a command and a standard that are not known beforehand.
  void issue(Command command, std::uint32_t bank, Cycle cycle);

  /// Moves everything `cycles` into the future: idle time in which the same commands repeat.
  void shift(Cycle cycles);

  void state(Archive& archive) {
    archive(cells_, rings_, auto_precharge_cells_, refresh_cells_, last_);
  }

 private:
  /// Where the cells of a bank, of its bank group and of its rank begin.
  struct Cells {
    std::size_t bank;
    std::size_t group;
    std::size_t rank;
  };
  struct Place {
    std::uint32_t bank;
    std::uint32_t rank;
  };
  struct RankRule {
    Command preceding;
    bool other_ranks;  ///< the preceding command went to another rank than the following
    std::uint32_t gap;
  };
  /// The rule that counts several activates back: of a rank's last ones, when each frees the
  /// next.
  struct Ring {
    std::array<Cycle, window> release{};
    std::uint32_t oldest = 0;

    void state(Archive& archive) { archive(release, oldest); }
  };

  template <const auto& table, std::size_t... command>
  void issue_one_of(Command which, std::uint32_t bank, Cycle cycle,
                    std::index_sequence<command...> all);
  void collect_for_ranks(const Constraint& constraint, const Config& config);
  [[nodiscard]] static std::uint32_t rank_cell(Slot slot, std::uint32_t rank) {
    return rank_cells + rank * bank_slots + static_cast<std::uint32_t>(slot);
  }
  static void raise(Cycle& cell, Cycle to) {
    if (cell < to) cell = to;
  }
  template <const auto& table, Command command, std::size_t... row>
  [[gnu::always_inline]] void apply_all(const Cells& cells, const Place& at, Cycle cycle,
                                        std::index_sequence<row...>) {
    (apply<table, command, row>(cells, at, cycle), ...);
  }
  /// Applies one row of the table after `command`.
  template <const auto& table, Command command, std::size_t row>
  [[gnu::always_inline]] void apply(const Cells& cells, const Place& at, Cycle cycle) {
    constexpr const Constraint& constraint = table[row];
    if constexpr (constraint.preceding.has(command) && constraint.count == 1) {
      const Cycle to = cycle + gaps_[row];
      if constexpr (constraint.scope == Scope::same_bank) {
        apply_to_same_banks<constraint.following.has(Command::refsb)>(at, to);
      } else if constexpr (is_for_auto_precharge_alone(constraint)) {
        raise(auto_precharge_cells_[at.bank], to);
      } else {
        apply_to<table, row, Command::act>(cells, at.rank, to);
        apply_to<table, row, Command::pre>(cells, at.rank, to);
        apply_to<table, row, Command::rd>(cells, at.rank, to);
        apply_to<table, row, Command::wr>(cells, at.rank, to);
      }
    }
  }
  template <const auto& table, std::size_t row, Command following>
  [[gnu::always_inline]] void apply_to(const Cells& cells, std::uint32_t rank, Cycle to) {
    constexpr const Constraint& constraint = table[row];
    constexpr auto slot = static_cast<std::uint32_t>(slot_of(following));
    if constexpr (!constraint.following.has(following)) {
      return;
    } else if constexpr (constraint.scope == Scope::bank) {
      raise(cells_[cells.bank + slot], to);
    } else if constexpr (constraint.scope == Scope::bank_group) {
      raise(cells_[cells.group + slot], to);
    } else if constexpr (constraint.scope == Scope::rank) {
      raise(cells_[cells.rank + slot], to);
    } else if (ranks_ > 1) {
      for (std::uint32_t other = 0; other < ranks_; ++other) {
        if (other != rank) raise(cells_[rank_cells + other * bank_slots + slot], to);
      }
    }
  }
  /// Between REFSB and the banks of its number: what follows is REFSB, else an activate.
  template <bool refresh_follows>
  void apply_to_same_banks(const Place& at, Cycle to) {
    if constexpr (refresh_follows) {
      raise(refresh_cells_[same_bank_cell(at.bank)], to);
    } else {
      for (std::uint32_t bank = 0; bank < std::size(rank_of_); ++bank) {
        if (rank_of_[bank] != at.rank || (bank ^ at.bank) % banks_ != 0) continue;
        raise(cells_[bank * bank_slots + static_cast<std::uint32_t>(Slot::act)], to);
      }
    }
  }
  [[nodiscard]] static constexpr bool is_for_auto_precharge_alone(const Constraint& constraint) {
    return constraint.following.has(Command::rda) && !constraint.following.has(Command::rd);
  }
  [[nodiscard]] std::uint32_t same_bank_cell(std::uint32_t bank) const {
    return rank_of(bank) * most_banks_in_group + bank % banks_;
  }
  void count_activate(std::uint32_t rank, Cycle cycle) {
    Ring& ring = rings_[rank];
    ring.release[ring.oldest] = cycle + window_gap_;
    ring.oldest = (ring.oldest + 1) % window;
    raise(cells_[rank_cell(Slot::act, rank)], ring.release[ring.oldest]);
  }

  static constexpr std::uint32_t most_ranks = 4, most_groups = 32, most_banks = 64;
  static constexpr std::uint32_t most_banks_in_group = 4;
  static constexpr std::size_t most_rows =
      std::max(std::size(ddr4::constraints), std::size(ddr5::constraints));
  static constexpr std::uint32_t group_cells = most_banks * bank_slots;
  static constexpr std::uint32_t rank_cells = group_cells + most_groups * bank_slots;

  static constexpr std::uint8_t no_rank = 0xff;

  Standard standard_;
  std::uint32_t ranks_;
  std::uint32_t banks_;                                 ///< in a bank group
  std::array<std::uint8_t, most_banks> rank_of_{};      ///< by bank
  std::array<std::uint16_t, most_banks> group_cell_{};  ///< by bank: its group's first cell
  /// [bank][4], then [bank group][4], then [rank][4]
  std::array<Cycle, rank_cells + most_ranks * bank_slots> cells_{};
  std::array<std::uint32_t, most_rows> gaps_{};  ///< by row of the table
  std::uint32_t window_gap_ = 0;  ///< tFAW
  std::array<Ring, most_ranks> rings_;
  std::array<Cycle, most_banks> auto_precharge_cells_{};                  ///< by bank
  std::array<Cycle, most_ranks * most_banks_in_group> refresh_cells_{};  ///< by rank and number
  /// When each command last went to each rank, 0: never.
  std::array<std::array<Cycle, most_ranks>, command_count> last_{};
  std::array<std::vector<RankRule>, all_slots> rank_rules_;  ///< by slot
};

}  // namespace nearfar::sim::dram

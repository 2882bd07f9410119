#pragma once

#include <array>
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
/// A bank's commands are bound by what its bank did and by what its bank group and rank did;
/// the latter two are kept together per bank group, so that asking takes two loads. Rows of
/// the table whose later command this channel never issues are left out at construction.
class DeviceTiming {
 public:
  static constexpr std::uint32_t bank_slots = 4;   ///< act, pre, rd, wr: to one bank
  static constexpr std::uint32_t rank_slots = 10;  ///< of which the last six: to a whole rank

  explicit DeviceTiming(const Config& config);

  /// Earliest cycle for a command to a bank; `slot` is one of the first four.
  [[nodiscard]] Cycle earliest(Slot slot, const Location& at) const {
    const Cycle own = bank_[bank_offset(at.bank_index, slot)];
    const Cycle shared = group_[bank_offset(at.group_index, slot)];
    return own < shared ? shared : own;
  }
  /// Earliest cycle for a command to a rank; `slot` is one of the last six.
  [[nodiscard]] Cycle earliest(Slot slot, std::uint32_t rank) const {
    return rank_[rank * rank_slots + static_cast<std::uint32_t>(slot)];
  }

  [[nodiscard]] static constexpr std::uint32_t bank_offset(std::uint32_t index, Slot slot) {
    return index * bank_slots + static_cast<std::uint32_t>(slot);
  }
  /// The two parts of earliest(slot, location), by bank_offset: for a scan over banks.
  [[nodiscard]] const Cycle* bank_times() const { return bank_.data(); }
  [[nodiscard]] const Cycle* group_times() const { return group_.data(); }

  /// `command` goes out at `cycle`. For a rank's command only `at.rank` is read.
  void issue(Command command, const Location& at, Cycle cycle);

  /// Moves everything `cycles` into the future: idle time in which the same commands repeat.
  void shift(Cycle cycles);

 private:
  struct Rule {
    std::uint32_t slot;
    std::uint32_t gap;
  };
  /// The rules that one command sets off, by what they bind.
  struct Rules {
    std::vector<Rule> bank, bank_group, rank_banks, rank, other_ranks;
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

  void add(const Constraint& constraint, const Config& config);
  void raise_rank_banks(std::uint32_t rank, std::uint32_t slot, Cycle cycle);

  std::uint32_t ranks_;
  std::uint32_t groups_;  ///< in a rank
  std::array<Rules, command_count> rules_;
  std::vector<Window> windows_;
  std::vector<Cycle> bank_;   ///< [bank][bank_slots]
  std::vector<Cycle> group_;  ///< [bank group][bank_slots]: bank group and rank together
  std::vector<Cycle> rank_;   ///< [rank][rank_slots]
};

}  // namespace nearfar::sim::dram

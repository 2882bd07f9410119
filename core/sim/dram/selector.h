#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/dram/controller_state.h"
#include "sim/dram/device_timing.h"

namespace nearfar::sim::dram {

/// Finds the next command for a request by keeping, per bank and direction, the command that
/// the bank proposes. A proposal changes only when a request of its bank comes or goes or its
/// row opens or closes; what timing says about it is read when it is compared.
class Selector {
 public:
  using Index = RequestQueue::Index;

  Selector(const ControllerState& state, const DeviceTiming& timing)
      : state_(state), timing_(timing) {}

  /// The best command, at `from` or later, among banks in `available`.
  [[nodiscard]] Choice select(Direction d, Cycle from, std::uint64_t available) const;

  /// What the bank proposes, at `from` or later.
  [[nodiscard]] Choice proposal(Direction d, std::uint32_t bank, Cycle from) const;

  /// What an arrival changed.
  enum class Change : std::uint8_t { none, first, replaced };

  /// A request was queued.
  Change arrived(Direction d, Index entry);

  /// Works out anew what a bank proposes.
  void update(Direction d, std::uint32_t bank);

 private:
  enum Kind : std::uint8_t { column, activate, precharge };

  static constexpr std::uint64_t no_rank = ~std::uint64_t{0};

  struct Proposal {
    std::uint64_t order = 0;
    Index entry = RequestQueue::none;
  };

  /// One direction's proposals.
  struct Side {
    std::array<Proposal, 64> proposals;       ///< by bank
    std::array<std::uint64_t, 3> banks_of{};  ///< by kind: the banks that propose it, a bit each
  };

  /// The best proposal so far: waiting time and order in one number, so that one comparison
  /// picks the winner.
  struct Best {
    static constexpr unsigned order_bits = 40;
    std::uint64_t rank = no_rank;
    std::uint32_t bank = 0;
    [[nodiscard]] Cycle wait() const { return rank >> order_bits; }
  };

  void compare(const Side& side, std::uint64_t banks, Slot slot, Cycle from, Best& best) const;
  void propose(Direction d, std::uint32_t bank, Index entry, Kind kind);
  void withdraw(Direction d, std::uint32_t bank);
  [[nodiscard]] static Command command_of(Direction d, Kind kind) {
    if (kind == activate) return Command::act;
    if (kind == precharge) return Command::pre;
    return d == Direction::read ? Command::rd : Command::wr;
  }
  [[nodiscard]] Kind kind_of(Direction d, std::uint32_t bank) const;
  [[nodiscard]] Choice choice(Direction d, std::uint32_t bank, Kind kind, Cycle cycle) const {
    const Proposal& proposal = side(d).proposals[bank];
    return {cycle, proposal.order, command_of(d, kind), d, proposal.entry};
  }
  [[nodiscard]] Side& side(Direction d) { return sides_[static_cast<unsigned>(d)]; }
  [[nodiscard]] const Side& side(Direction d) const { return sides_[static_cast<unsigned>(d)]; }

  const ControllerState& state_;
  const DeviceTiming& timing_;
  std::array<Side, 2> sides_;
};

}  // namespace nearfar::sim::dram

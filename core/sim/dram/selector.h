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
  struct Proposal {
    std::uint64_t order = 0;
    std::uint16_t bank_offset = 0;
    std::uint16_t group_offset = 0;
    Index entry = RequestQueue::none;
    Command command = Command::rd;
  };

  void propose(Direction d, std::uint32_t bank, Index entry);
  [[nodiscard]] Choice choice(Direction d, const Proposal& proposal, Cycle cycle) const {
    return {cycle, proposal.order, proposal.command, d, proposal.entry};
  }
  [[nodiscard]] Cycle ready(const Proposal& proposal) const {
    const Cycle bank = timing_.bank_times()[proposal.bank_offset];
    const Cycle group = timing_.group_times()[proposal.group_offset];
    return bank < group ? group : bank;
  }
  [[nodiscard]] std::uint64_t without_overtakers(Direction d, std::uint64_t banks) const;

  const ControllerState& state_;
  const DeviceTiming& timing_;
  std::array<std::array<Proposal, 64>, 2> proposals_;
  std::array<std::uint64_t, 2> proposing_{};  ///< banks that propose something, one bit each
};

}  // namespace nearfar::sim::dram

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/dram/controller_state.h"
#include "sim/dram/device_timing.h"

namespace nearfar::sim::dram {

/// The rules of ControllerState, evaluated from scratch for one clock cycle: what the tests
/// hold Selector, RankRules::plan and DeviceTiming against. It keeps nothing but when each
/// command was last issued, and reads the constraint table as it stands.
class CycleReference {
 public:
  CycleReference(const Config& config, const ControllerState& state);

  struct RankChoice {
    Command command = Command::ref;
    Location at;
  };
  /// The rank's command that goes out at `cycle`, if any.
  [[nodiscard]] std::optional<RankChoice> rank_command(Cycle cycle) const;
  struct RequestChoice {
    Direction direction = Direction::read;
    Command command = Command::rd;
    RequestQueue::Entry* entry = nullptr;
  };
  /// The request's command that goes out at `cycle`, if any.
  [[nodiscard]] std::optional<RequestChoice> request_command(Cycle cycle) const;

  void issue(Command command, const Location& at, Cycle cycle);

 private:
  /// When each command was issued to one place, the last four times, latest first.
  using Times = std::array<std::array<std::optional<Cycle>, 4>, command_count>;

  [[nodiscard]] std::optional<RankChoice> wanted(std::uint32_t rank, Cycle cycle) const;
  [[nodiscard]] bool would_delay_refresh(const Location& at, Cycle cycle) const;
  [[nodiscard]] bool allowed(Command command, const Location& at, Cycle cycle) const;
  [[nodiscard]] bool satisfied(const Constraint& constraint, const Times& times, Cycle cycle) const;
  [[nodiscard]] const RequestQueue::Entry* choice_of_bank(Direction d, std::uint32_t bank) const;

  /// Which of a rank's sets of banks of one number the bank belongs to.
  [[nodiscard]] std::size_t same_banks_of(const Location& at) const {
    return at.rank * std::size_t{config_.banks} + at.bank % config_.banks;
  }

  Config config_;
  const ControllerState& state_;
  std::vector<Times> bank_, same_banks_, group_, rank_;
};

}  // namespace nearfar::sim::dram

#pragma once

#include <array>
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
    std::uint32_t rank = 0;
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

  [[nodiscard]] bool allowed(Command command, const Location& at, Cycle cycle) const;
  [[nodiscard]] bool satisfied(const Constraint& constraint, const Times& times, Cycle cycle) const;
  [[nodiscard]] const RequestQueue::Entry* choice_of_bank(Direction d, std::uint32_t bank) const;

  Config config_;
  const ControllerState& state_;
  std::vector<Times> bank_, group_, rank_;
};

}  // namespace nearfar::sim::dram

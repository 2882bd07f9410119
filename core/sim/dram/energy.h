#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/tick.h"
#include "sim/dram/config.h"
#include "sim/dram/power_times.h"

namespace nearfar::sim::dram {

/// What a channel's devices have done so far, summed over its ranks.
struct Activity {
  std::uint64_t activates = 0;
  std::uint64_t reads = 0;  ///< bursts
  std::uint64_t writes = 0;
  std::uint64_t refreshes = 0;
  std::array<Tick, power_states> times{};
  Tick rows_open{};  ///< summed over open rows
};

/// Energy in pJ by what it went into. What a command costs is what it takes beyond the standby
/// current that flows anyway.
struct Energy {
  std::uint64_t activate = 0;  ///< with the precharge that ends it
  std::uint64_t read = 0;
  std::uint64_t write = 0;
  std::uint64_t refresh = 0;
  std::uint64_t standby = 0;  ///< clock enabled
  std::uint64_t powerdown = 0;
  std::uint64_t self_refresh = 0;

  [[nodiscard]] std::uint64_t total() const {
    return activate + read + write + refresh + standby + powerdown + self_refresh;
  }

  struct Field {
    const char* name;
    std::uint64_t Energy::* value;
  };
  static const Field fields[];
};

inline constexpr Energy::Field Energy::fields[] = {
    {"activate", &Energy::activate},
    {"read", &Energy::read},
    {"write", &Energy::write},
    {"refresh", &Energy::refresh},
    {"standby", &Energy::standby},
    {"powerdown", &Energy::powerdown},
    {"self_refresh", &Energy::self_refresh},
};

/// Energy of the DRAM devices from the currents of their data sheet, as in Micron's power
/// calculation (TN-41-01 for DDR3, TN-40-07 for DDR4). Only sums and products of integers, so
/// the same on every machine. Not in it: I/O and termination, which depend on the board.
class EnergyModel {
 public:
  /// `config.energy` is there.
  explicit EnergyModel(const Config& config);

  [[nodiscard]] Energy of(const Activity& activity) const;

  /// Of all ranks together: standby at its highest, and refresh on average.
  [[nodiscard]] double most_standby_mw() const;
  [[nodiscard]] double refresh_mw() const;
  /// An upper limit of what one access costs beyond standby: a burst, and a row for it alone.
  [[nodiscard]] double most_access_pj() const;

 private:
  /// Exact in nW ps; of all devices of a rank.
  std::uint64_t activate_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t write_ = 0;
  std::uint64_t refresh_ = 0;
  std::array<std::uint64_t, power_states> state_nw_{};
  std::uint64_t row_nw_ = 0;  ///< of each open row beyond what the state draws
  std::uint32_t ranks_;
  std::uint32_t rows_;     ///< of a rank that can be open at once
  std::uint32_t refreshes_;  ///< in one interval
  Tick refresh_interval_;    ///< 0: never
};

/// Throws InputError, with `prefix` before the key's name, when an operation would draw less
/// than the standby it contains.
void check_energy(const Config& config, const std::string& prefix);

}  // namespace nearfar::sim::dram

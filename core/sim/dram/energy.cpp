#include "sim/dram/energy.h"

#include <algorithm>

#include "base/error.h"

namespace nearfar::sim::dram {
namespace {

/// nW ps in a pJ.
constexpr std::uint64_t unit = 1'000'000'000;

std::uint64_t in_pj(std::uint64_t amount, std::uint64_t each) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(amount) * each / unit);
}

/// What one device takes for each command beyond its standby, in nW ps, and draws in each state,
/// in nW. Signed: currents that contradict each other give something below zero.
struct Device {
  explicit Device(const Config& config) : c(*config.energy), config_(config) {}

  /// Standby with one row open; with all of them it is IDD3N.
  [[nodiscard]] std::int64_t one_row() const { return vdd(c.idd2n) + first_row() + row(); }
  /// What the first of the open rows draws, whatever the number of them.
  [[nodiscard]] std::int64_t first_row() const {
    return (vdd(c.idd3n) - vdd(c.idd2n)) * c.rho_permille / 1000;
  }
  /// What each of the open rows draws, the first included.
  [[nodiscard]] std::int64_t row() const {
    return (vdd(c.idd3n) - vdd(c.idd2n) - first_row()) / config_.banks_in_rank();
  }

  /// IDD0 and IPP0 are measured while one bank is activated and precharged once in tRC.
  [[nodiscard]] std::int64_t activate() const {
    const std::int64_t open = time(config_.timing.ras);
    const std::int64_t cycle = time(config_.timing.rc);
    return vdd(c.idd0) * cycle - one_row() * open - vdd(c.idd2n) * (cycle - open) +
           (vpp(c.ipp0) - vpp(c.ipp3n)) * cycle;
  }
  [[nodiscard]] std::int64_t read() const {
    return (vdd(c.idd4r) - vdd(c.idd3n) + vpp(c.ipp4r) - vpp(c.ipp3n)) * time(config_.timing.burst);
  }
  [[nodiscard]] std::int64_t write() const {
    return (vdd(c.idd4w) - vdd(c.idd3n) + vpp(c.ipp4w) - vpp(c.ipp3n)) * time(config_.timing.burst);
  }
  /// IDD5B is measured with a refresh every tRFC, all banks precharged; IDD5C with a same-bank
  /// refresh every tRFCsb, of which the data sheet has no IPP of its own.
  [[nodiscard]] std::int64_t refresh() const {
    if (config_.same_bank_refresh) {
      return (vdd(c.idd5c) - vdd(c.idd2n)) * time(config_.timing.rfc_sb);
    }
    return (vdd(c.idd5b) - vdd(c.idd2n) + vpp(c.ipp5b) - vpp(c.ipp3n)) * time(config_.timing.rfc);
  }
  [[nodiscard]] std::int64_t state(PowerState state) const {
    switch (state) {
      case PowerState::active:
        return vdd(c.idd2n) + first_row() + vpp(c.ipp3n);
      case PowerState::precharged:
        return vdd(c.idd2n) + vpp(c.ipp3n);
      case PowerState::active_powerdown:
        return vdd(c.idd3p) + vpp(c.ipp3n);
      case PowerState::precharged_powerdown:
        return vdd(c.idd2p) + vpp(c.ipp3n);
      case PowerState::self_refresh:
        return vdd(c.idd6) + vpp(c.ipp6);
    }
    return 0;
  }

  const Currents& c;

 private:
  [[nodiscard]] std::int64_t vdd(std::uint32_t microamperes) const {
    return std::int64_t{c.vdd_mv} * microamperes;
  }
  [[nodiscard]] std::int64_t vpp(std::uint32_t microamperes) const {
    return std::int64_t{c.vpp_mv} * microamperes;
  }
  [[nodiscard]] std::int64_t time(Cycle cycles) const {
    return static_cast<std::int64_t>((config_.clock * cycles).ps());
  }

  const Config& config_;
};

}  // namespace

EnergyModel::EnergyModel(const Config& config)
    : ranks_(config.ranks),
      rows_(config.banks_in_rank()),
      refreshes_(config.refreshes()),
      refresh_interval_(config.refresh ? config.clock * config.timing.refi : Tick{}) {
  const Device device(config);
  const auto of_rank = [&](std::int64_t of_device) {
    return static_cast<std::uint64_t>(of_device) * config.energy->devices;
  };
  activate_ = of_rank(device.activate());
  read_ = of_rank(device.read());
  write_ = of_rank(device.write());
  refresh_ = of_rank(device.refresh());
  for (std::size_t i = 0; i < power_states; ++i) {
    state_nw_[i] = of_rank(device.state(static_cast<PowerState>(i)));
  }
  row_nw_ = of_rank(device.row());
}

Energy EnergyModel::of(const Activity& activity) const {
  const auto in_state = [&](PowerState state) {
    const auto i = static_cast<std::size_t>(state);
    return in_pj(activity.times[i].ps(), state_nw_[i]);
  };
  Energy energy;
  energy.activate = in_pj(activity.activates, activate_);
  energy.read = in_pj(activity.reads, read_);
  energy.write = in_pj(activity.writes, write_);
  energy.refresh = in_pj(activity.refreshes, refresh_);
  energy.standby = in_state(PowerState::active) + in_state(PowerState::precharged) +
                   in_pj(activity.rows_open.ps(), row_nw_);
  energy.powerdown =
      in_state(PowerState::active_powerdown) + in_state(PowerState::precharged_powerdown);
  energy.self_refresh = in_state(PowerState::self_refresh);
  return energy;
}

double EnergyModel::most_standby_mw() const {
  const auto active = static_cast<std::size_t>(PowerState::active);
  return static_cast<double>((state_nw_[active] + row_nw_ * rows_) * ranks_) * 1e-6;
}

double EnergyModel::refresh_mw() const {
  if (refresh_interval_ == Tick{}) return 0;
  return static_cast<double>(refresh_ * refreshes_ * ranks_) /
         static_cast<double>(refresh_interval_.ps()) * 1e-6;
}

double EnergyModel::most_access_pj() const {
  return static_cast<double>(activate_ + std::max(read_, write_)) / static_cast<double>(unit);
}

void check_energy(const Config& config, const std::string& prefix) {
  const Device device(config);
  const auto at_least_standby = [&](std::int64_t surplus, const char* key, const char* standby) {
    if (surplus >= 0) return;
    throw InputError(prefix + "energy." + key + " draws less than the standby it contains (" +
                     standby + ")");
  };
  at_least_standby(device.c.idd3n - std::int64_t{device.c.idd2n}, "idd3n", "idd2n");
  at_least_standby(device.activate(), "idd0", "idd3n during tRAS, idd2n for the rest of tRC");
  at_least_standby(device.read(), "idd4r", "idd3n");
  at_least_standby(device.write(), "idd4w", "idd3n");
  at_least_standby(device.refresh(), config.same_bank_refresh ? "idd5c" : "idd5b", "idd2n");
}

}  // namespace nearfar::sim::dram

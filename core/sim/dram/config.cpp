#include "sim/dram/config.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "sim/dram/energy.h"
#include "sim/dram/mapping.h"

namespace nearfar::sim::dram {
namespace {

/// tDLLK by speed (JESD79-4), for models that do not state it.
std::uint32_t dll_lock(Tick clock) {
  if (clock > Tick(1000)) return 597;  // up to DDR4-1866
  if (clock > Tick(800)) return 768;   // DDR4-2133 and -2400
  return 1024;
}

[[noreturn]] void fail(const std::string& key, const std::string& what) {
  throw InputError(key + " " + what);
}

void check_range(const std::string& key, std::uint64_t value, std::uint64_t least,
                 std::uint64_t most) {
  if (value < least || value > most) {
    fail(key, "is " + std::to_string(value) + "; it must lie between " + std::to_string(least) +
                  " and " + std::to_string(most));
  }
}

void check_power_of_two(const std::string& key, std::uint64_t value, std::uint64_t most) {
  check_range(key, value, 1, most);
  if (!std::has_single_bit(value)) {
    fail(key, "is " + std::to_string(value) + "; it must be a power of two");
  }
}

/// The timing keys of a standard and where they go.
template <typename Visit>
void each_timing(Standard standard, Timing& t, Visit visit) {
  visit("cl", t.cl);
  visit("cwl", t.cwl);
  visit("rcd", t.rcd);
  visit("rp", t.rp);
  visit("ras", t.ras);
  visit("rc", t.rc);
  visit("ccd_s", t.ccd_s);
  visit("ccd_l", t.ccd_l);
  visit("rrd_s", t.rrd_s);
  visit("rrd_l", t.rrd_l);
  visit("faw", t.faw);
  visit("wtr_s", t.wtr_s);
  visit("wtr_l", t.wtr_l);
  visit("wr", t.wr);
  visit("rtp", t.rtp);
  visit("rfc", t.rfc);
  visit("refi", t.refi);
  visit("xp", t.xp);
  visit("cke", t.cke);
  visit("ckesr", t.ckesr);
  visit("xs", t.xs);
  visit("rtrs", t.rtrs);
  if (standard == Standard::ddr4) return;
  visit("ppd", t.ppd);
  visit("rfc_sb", t.rfc_sb);
  visit("refsb_rd", t.refsb_rd);
}

/// The keys of the currents and where they go.
template <typename Visit>
void each_current(Currents& c, Visit visit) {
  visit("idd0", c.idd0);
  visit("idd2n", c.idd2n);
  visit("idd2p", c.idd2p);
  visit("idd3n", c.idd3n);
  visit("idd3p", c.idd3p);
  visit("idd4r", c.idd4r);
  visit("idd4w", c.idd4w);
  visit("idd5b", c.idd5b);
  visit("idd6", c.idd6);
  visit("ipp0", c.ipp0);
  visit("ipp3n", c.ipp3n);
  visit("ipp4r", c.ipp4r);
  visit("ipp4w", c.ipp4w);
  visit("ipp5b", c.ipp5b);
  visit("ipp6", c.ipp6);
}

/// Models exported before energy was counted have no currents.
std::optional<Currents> currents(const Settings& settings, const std::string& prefix) {
  if (!settings.has(prefix + "energy.vdd")) return std::nullopt;
  constexpr std::uint64_t most = 100'000'000;
  const auto value = [&](const std::string& key) {
    const std::uint64_t found = settings.count(prefix + key);
    check_range(prefix + key, found, 0, most);
    return static_cast<std::uint32_t>(found);
  };
  Currents currents;
  currents.vdd_mv = value("energy.vdd");
  currents.vpp_mv = value("energy.vpp");
  const std::uint64_t line_bits = line_bytes * 8;
  const std::uint64_t device_bits =
      std::uint64_t{value("width")} * std::max(value("burst_length"), 1u);
  check_range(prefix + "width", device_bits, 1, line_bits);
  currents.devices = static_cast<std::uint32_t>(line_bits / device_bits);
  each_current(currents, [&](const char* name, std::uint32_t& current) {
    current = value(std::string("energy.") + name);
  });
  if (settings.name(prefix + "standard") == "DDR5") currents.idd5c = value("energy.idd5c");
  const double rho = settings.real(prefix + "energy.rho");
  if (!(rho >= 0 && rho <= 1)) fail(prefix + "energy.rho", "must lie between 0 and 1");
  currents.rho_permille = static_cast<std::uint32_t>(std::lround(rho * 1000));
  return currents;
}

void check_timing(const Config& config, const std::string& prefix) {
  constexpr std::uint32_t longest = 1u << 20;
  Timing t = config.timing;
  each_timing(config.standard, t, [&](const char* name, std::uint32_t value) {
    // Only the board's bus turnaround may be nothing.
    const std::uint32_t least = std::string_view(name) == "rtrs" ? 0 : 1;
    check_range(prefix + "timing." + name, value, least, longest);
  });
  if (t.rc < t.ras + t.rp) fail(prefix + "timing.rc", "is less than ras + rp");
  if (t.ccd_l < t.ccd_s) fail(prefix + "timing.ccd_l", "is less than ccd_s");
  if (t.rrd_l < t.rrd_s) fail(prefix + "timing.rrd_l", "is less than rrd_s");
  if (t.wtr_l < t.wtr_s) fail(prefix + "timing.wtr_l", "is less than wtr_s");
  if (t.ccd_s < t.burst) fail(prefix + "timing.ccd_s", "is less than a burst's cycles");
  if (config.standard == Standard::ddr5 && t.ccd_l_w < t.ccd_s) {
    fail(prefix + "timing.ccd_l_wr", "or ccd_l_wr2 is less than ccd_s");
  }
  if (t.wr + t.cwl + t.burst < t.rtp) fail(prefix + "timing.rtp", "outlasts a write's recovery");
  if (config.refresh && t.refi < 4 * t.rfc / 3) {
    fail(prefix + "timing.refi",
         "leaves no time between refreshes of " + std::to_string(t.rfc) + " cycles");
  }
}

/// What only a DDR5 channel has.
void read_ddr5(const Settings& settings, const std::string& prefix, Config& config) {
  config.standard = Standard::ddr5;
  const auto count = [&](const std::string& key) {
    const std::uint64_t value = settings.count(prefix + key);
    check_range(prefix + key, value, 1, ~std::uint32_t{0});
    return static_cast<std::uint32_t>(value);
  };
  // Four pins bring 64 bits of a line; the device corrects errors in 128.
  const bool modifies = count("width") == 4;
  config.timing.ccd_l_w = count(modifies ? "timing.ccd_l_wr" : "timing.ccd_l_wr2");
  config.subchannels = count("subchannels");
  config.subchannel_interleave = settings.bytes(prefix + "subchannel_interleave");
  const std::string& granularity = settings.name(prefix + "refresh.granularity");
  if (granularity != "1x" && granularity != "2x") {
    fail(prefix + "refresh.granularity", "is '" + granularity + "'; it must be 1x or 2x");
  }
  config.fine_refresh = granularity == "2x";
  const std::string& banks = settings.name(prefix + "refresh.banks");
  if (banks != "all" && banks != "same") {
    fail(prefix + "refresh.banks", "is '" + banks + "'; it must be all or same");
  }
  config.same_bank_refresh = banks == "same";
}

}  // namespace

Bytes Config::capacity() const {
  return Bytes{total_banks()} * rows * (columns / burst_length) * line_bytes;
}

void check(const Config& config, const std::string& prefix) {
  constexpr std::uint64_t most_entries = 4096;
  constexpr std::uint32_t most_banks = 64;  // a bit each in the controller's sets
  const bool ddr5 = config.standard == Standard::ddr5;
  check_range(prefix + "clock_ps", config.clock.ps(), 1, 1'000'000);
  check_range(prefix + "ranks", config.ranks, 1, 4);
  check_power_of_two(prefix + "bank_groups", config.bank_groups, ddr5 ? 8 : 4);
  check_power_of_two(prefix + "banks", config.banks, 4);
  if (config.total_banks() > most_banks) {
    fail(prefix + "ranks", "of " + std::to_string(config.banks_in_rank()) +
                               " banks make more than " + std::to_string(most_banks) + " banks");
  }
  check_power_of_two(prefix + "rows", config.rows, 1u << 20);
  check_power_of_two(prefix + "columns", config.columns, 1u << 14);
  if (config.burst_length != (ddr5 ? 16 : 8)) {
    fail(prefix + "burst_length", ddr5 ? "must be 16: a line on the 32 data bits of a subchannel"
                                       : "must be 8: a line on 64 data bits");
  }
  if (config.columns < config.burst_length) fail(prefix + "columns", "hold less than a burst");
  check_range(prefix + "subchannels", config.subchannels, 1, ddr5 ? 2 : 1);
  check_power_of_two(prefix + "subchannel_interleave", config.subchannel_interleave, 1u << 30);
  if (config.subchannel_interleave < line_bytes) {
    fail(prefix + "subchannel_interleave", "is less than a line");
  }
  check_timing(config, prefix);
  check_range(prefix + "queue.read", config.read_queue, 1, most_entries);
  check_range(prefix + "queue.write", config.write_queue, 1, most_entries);
  check_range(prefix + "queue.write_high", config.write_high, 1, config.write_queue);
  check_range(prefix + "queue.write_low", config.write_low, 0, config.write_high - 1);
  // JESD79-5 allows DDR5 half as many, unless they come twice as often.
  check_range(prefix + "refresh.postpone", config.refresh_postpone, 0,
              ddr5 && !config.fine_refresh ? 4 : 8);
  if (config.same_bank_refresh && !config.fine_refresh) {
    fail(prefix + "refresh.banks", "is same, which needs refresh.granularity 2x");
  }
  if (config.same_bank_refresh &&
      config.timing.refi / config.banks < config.timing.rfc_sb * 4 / 3) {
    fail(prefix + "timing.refi", "leaves no time between refreshes of the same bank");
  }
  static_cast<void>(AddressMapping(config, prefix + "mapping"));
  if (config.energy) check_energy(config, prefix);
}

Config config_from(const Settings& settings, const std::string& prefix) {
  const auto count = [&](const std::string& key) {
    const std::uint64_t value = settings.count(prefix + key);
    check_range(prefix + key, value, 0, ~std::uint32_t{0});
    return static_cast<std::uint32_t>(value);
  };

  const std::string& standard = settings.name(prefix + "standard");
  if (standard != "DDR4" && standard != "DDR5") {
    fail(prefix + "standard", "is '" + standard + "'; it must be DDR4 or DDR5");
  }
  Config config;
  if (standard == "DDR5") read_ddr5(settings, prefix, config);
  config.clock = settings.time(prefix + "clock_ps");
  config.ranks = count("ranks");
  config.bank_groups = count("bank_groups");
  config.banks = count("banks");
  config.rows = count("rows");
  config.columns = count("columns");
  config.burst_length = count("burst_length");
  each_timing(config.standard, config.timing, [&](const char* name, std::uint32_t& value) {
    value = count(std::string("timing.") + name);
  });
  config.timing.dllk =
      settings.has(prefix + "timing.dllk") ? count("timing.dllk") : dll_lock(config.clock);
  config.timing.burst = config.burst_length / 2;
  config.read_queue = count("queue.read");
  config.write_queue = count("queue.write");
  config.write_high = count("queue.write_high");
  config.write_low = count("queue.write_low");
  const std::string& page = settings.name(prefix + "page");
  if (page != "open" && page != "closed") {
    fail(prefix + "page", "is '" + page + "'; it must be open or closed");
  }
  config.page = page == "closed" ? PagePolicy::closed : PagePolicy::open;
  config.refresh = settings.flag(prefix + "refresh.enabled");
  config.refresh_postpone = count("refresh.postpone");
  config.powerdown_idle = count("powerdown.idle");
  config.selfrefresh_idle = count("selfrefresh.idle");
  config.mapping = settings.name(prefix + "mapping");
  const std::string& hash = settings.has(prefix + "hash") ? settings.name(prefix + "hash") : "none";
  if (hash != "none" && hash != "xor") {
    fail(prefix + "hash", "is '" + hash + "'; it must be none or xor");
  }
  config.hash = hash == "xor";
  config.energy = currents(settings, prefix);
  check(config, prefix);
  return config;
}

}  // namespace nearfar::sim::dram

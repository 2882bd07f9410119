#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "limits.h"
#include "speed_bins.h"

namespace nearfar::checker {

/// One channel to put to the test: its devices and how its controller is set.
struct Machine {
  Device device;
  std::uint32_t ranks = 1;
  bool closed_page = false;
  std::uint32_t queue = 64;  ///< entries of the read queue, and of the write queue
  std::uint32_t postpone = 0;
  std::uint32_t powerdown_idle = 0;
  std::uint32_t selfrefresh_idle = 0;
  bool same_bank = false;  ///< of DDR5: one bank of every group is refreshed at a time
  std::string mapping;
  bool hash = false;

  [[nodiscard]] Limits limits() const {
    Limits limits = speed_bin(device);
    limits.hashed = hash;
    limits.ranks = ranks;
    return limits;
  }

  /// The model as the simulator reads it, in the form `nearfar model export` writes.
  [[nodiscard]] std::string settings(const std::string& prefix) const;

  [[nodiscard]] std::string description() const;
};

inline std::string Machine::settings(const std::string& prefix) const {
  const Limits t = limits();
  std::ostringstream out;
  const auto set = [&](const char* key, const auto& value) {
    out << prefix << key << " = " << value << '\n';
  };
  set("standard", t.ddr5 ? "DDR5" : "DDR4");
  set("speed_bin", (t.ddr5 ? "DDR5-" : "DDR4-") + std::to_string(device.rate));
  set("clock_ps", t.clock_ps);
  set("density_gbit", device.density_gbit);
  set("width", device.width);
  set("ranks", t.ranks);
  set("bank_groups", t.bank_groups);
  set("banks", t.banks);
  set("rows", t.rows);
  set("columns", t.columns);
  set("burst_length", t.burst_length);
  set("timing.cl", t.cl);
  set("timing.cwl", t.cwl);
  set("timing.rcd", t.rcd);
  set("timing.rp", t.rp);
  set("timing.ras", t.ras);
  set("timing.rc", t.rc);
  set("timing.ccd_s", t.ccd_s);
  set("timing.ccd_l", t.ccd_l);
  set("timing.rrd_s", t.rrd_s);
  set("timing.rrd_l", t.rrd_l);
  set("timing.faw", t.faw);
  set("timing.wtr_s", t.wtr_s);
  set("timing.wtr_l", t.wtr_l);
  set("timing.wr", t.wr);
  set("timing.rtp", t.rtp);
  set("timing.rfc", t.rfc);
  set("timing.refi", t.refi);
  set("timing.xp", t.xp);
  set("timing.cke", t.cke);
  set("timing.ckesr", t.ckesr);
  set("timing.xs", t.xs);
  set("timing.dllk", t.xsdll);
  set("timing.rtrs", t.rtrs);
  if (t.ddr5) {
    // The one for the other width is never looked at.
    set("timing.ccd_l_wr", device.width == 4 ? t.ccd_l_wr : 1);
    set("timing.ccd_l_wr2", device.width == 4 ? 1 : t.ccd_l_wr);
    set("timing.ppd", t.ppd);
    set("timing.rfc_sb", t.rfc_sb);
    set("timing.refsb_rd", t.refsb_rd);
    set("subchannels", 2);
    set("subchannel_interleave", 64);
    set("refresh.granularity", device.fine ? "2x" : "1x");
    set("refresh.banks", same_bank ? "same" : "all");
  }
  set("queue.read", queue);
  set("queue.write", queue);
  set("queue.write_high", queue * 3 / 4);
  set("queue.write_low", queue / 4);
  set("page", closed_page ? "closed" : "open");
  set("refresh.enabled", "true");
  set("refresh.postpone", postpone);
  set("powerdown.idle", powerdown_idle);
  set("selfrefresh.idle", selfrefresh_idle);
  set("mapping", mapping);
  set("hash", hash ? "xor" : "none");
  return out.str();
}

inline std::string Machine::description() const {
  std::ostringstream out;
  out << (device.ddr5() ? "DDR5-" : "DDR4-") << device.rate;
  if (device.ddr5()) out << device.bin << (device.fine ? " 2x" : "") << (same_bank ? " REFsb" : "");
  out << " x" << device.width << ' ' << device.density_gbit << " Gbit, ranks " << ranks
      << (closed_page ? ", closed" : ", open") << " page, queues " << queue << ", postpone "
      << postpone << ", power-down after " << powerdown_idle << ", self refresh after "
      << selfrefresh_idle << ", " << mapping << (hash ? ", hashed" : "");
  return out.str();
}

/// `count` machines, every property drawn on its own, the speed bins in turn.
[[nodiscard]] inline std::vector<Machine> random_machines(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  const auto draw = [&rng](auto... values) {
    const std::uint32_t all[] = {static_cast<std::uint32_t>(values)...};
    return all[rng.below(sizeof...(values))];
  };
  const std::string mappings[] = {
      "row-rank-bank-column-bank_group", "row-rank-bank-bank_group-column",
      "rank-bank-bank_group-row-column", "row-column-bank-bank_group-rank"};
  const std::uint32_t rates[] = {2400, 2666, 2933, 3200};
  std::vector<Machine> machines;
  for (std::size_t i = 0; i < count; ++i) {
    Machine m;
    m.device = {rates[i % 4], draw(4, 8, 16), draw(4, 8, 16)};
    m.ranks = draw(1, 2, 4);
    m.closed_page = draw(0, 1) == 1;
    m.queue = draw(4, 8, 64);
    m.postpone = draw(0, 4, 8);
    m.powerdown_idle = draw(0, 1, 1, 20, 200);
    m.selfrefresh_idle = draw(0, 0, 1, 500, 5000);
    m.mapping = mappings[rng.below(4)];
    m.hash = rng.below(2) == 0;
    machines.push_back(m);
  }
  return machines;
}

/// The same of DDR5: every speed bin in turn.
[[nodiscard]] inline std::vector<Machine> random_ddr5_machines(std::size_t count,
                                                               std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Machine> machines = random_machines(count, seed);
  for (std::size_t i = 0; i < count; ++i) {
    Machine& m = machines[i];
    m.device.rate = i % 2 == 0 ? 4800 : 5600;
    m.device.bin = static_cast<char>('A' + i / 2 % 3);
    m.device.density_gbit *= 2;
    m.same_bank = rng.below(2) == 0;
    m.device.fine = m.same_bank || rng.below(2) == 0;
    m.ranks = 1 + static_cast<std::uint32_t>(rng.below(2));
    if (m.device.width == 16 && rng.below(2) == 0) m.ranks = 4;
    if (!m.device.fine) m.postpone /= 2;
  }
  return machines;
}

}  // namespace nearfar::checker

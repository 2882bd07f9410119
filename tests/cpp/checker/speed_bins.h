#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "limits.h"

namespace nearfar::checker {

/// A device as one orders it.
struct Device {
  std::uint32_t rate = 2666;       ///< MT/s: 2400, 2666, 2933, 3200
  std::uint32_t width = 8;         ///< data pins: 4, 8, 16
  std::uint32_t density_gbit = 8;  ///< 4, 8, 16
};

/// A parameter in clocks, by the rounding JEDEC prescribes for DDR4: up, after taking off
/// 2.5 % of a clock for the rounding of the clock period itself (JESD79-4, "rounding
/// algorithms"; JEDEC 21-C annex L).
[[nodiscard]] constexpr std::uint64_t to_clocks(std::uint64_t ps, std::uint64_t clock_ps) {
  return (ps * 1000 / clock_ps + 974) / 1000;
}

/// JESD79-4 for bins 2400T, 2666V, 2933Y and 3200AA: speed bin tables, "timing parameters
/// by speed grade", refresh parameters by density, addressing tables. One rank.
[[nodiscard]] inline Limits speed_bin(const Device& device) {
  Limits t;
  std::uint64_t faw_half_kb_ps = 0;  // tFAW of a 1/2 KB page, the x4 device
  std::uint64_t rrd_s_ps = 0;        // tRRD_S of a 1/2 KB or 1 KB page
  switch (device.rate) {
    case 2400:
      t.clock_ps = 833;
      t.cl = t.rcd = t.rp = 17;
      t.cwl = 16;
      t.xsdll = 768;
      faw_half_kb_ps = 13000;
      rrd_s_ps = 3300;
      break;
    case 2666:
      t.clock_ps = 750;
      t.cl = t.rcd = t.rp = 19;
      t.cwl = 18;
      t.xsdll = 1024;
      faw_half_kb_ps = 12000;
      rrd_s_ps = 3000;
      break;
    case 2933:
      t.clock_ps = 682;
      t.cl = t.rcd = t.rp = 21;
      t.cwl = 20;
      t.xsdll = 1024;
      faw_half_kb_ps = 10875;
      rrd_s_ps = 2700;
      break;
    case 3200:
      t.clock_ps = 625;
      t.cl = t.rcd = t.rp = 22;
      t.cwl = 20;
      t.xsdll = 1024;
      faw_half_kb_ps = 10000;
      rrd_s_ps = 2500;
      break;
    default:
      throw std::invalid_argument("no such speed bin");
  }
  const auto at_least = [&](std::uint64_t clocks, std::uint64_t ps) {
    return std::max(clocks, to_clocks(ps, t.clock_ps));
  };
  t.ras = at_least(0, 32000);
  t.rc = t.ras + t.rp;
  t.ccd_s = 4;
  t.ccd_l = at_least(5, 5000);
  t.wtr_s = at_least(2, 2500);
  t.wtr_l = at_least(4, 7500);
  t.wr = at_least(0, 15000);
  t.rtp = at_least(4, 7500);
  t.xp = at_least(4, 6000);
  t.cke = at_least(3, 5000);
  t.ckesr = t.cke + 1;
  t.refi = 7800000 / t.clock_ps;  // a maximum: rounded down
  t.rtrs = 2;                     // a controller's choice, not JEDEC's

  // Page size: 1/2 KB for x4, 1 KB for x8, 2 KB for x16.
  const bool two_kb = device.width == 16;
  t.rrd_s = at_least(4, two_kb ? 5300 : rrd_s_ps);
  t.rrd_l = at_least(4, two_kb ? 6400 : 4900);
  t.faw = device.width == 4 ? at_least(16, faw_half_kb_ps)
                            : (two_kb ? at_least(28, 30000) : at_least(20, 21000));

  const std::uint64_t rfc_ps = device.density_gbit == 4   ? 260000
                               : device.density_gbit == 8 ? 350000
                                                          : 550000;
  t.rfc = at_least(0, rfc_ps);
  t.xs = at_least(0, rfc_ps + 10000);

  t.ranks = 1;
  t.bank_groups = two_kb ? 2 : 4;
  t.banks = 4;
  t.columns = 1024;
  const std::uint64_t banks = t.bank_groups * t.banks;
  t.rows = (std::uint64_t{device.density_gbit} << 30) / (banks * t.columns * device.width);
  return t;
}

}  // namespace nearfar::checker

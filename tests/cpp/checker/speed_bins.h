#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "limits.h"

namespace nearfar::checker {

/// A device as one orders it.
struct Device {
  std::uint32_t rate = 2666;       ///< MT/s: 2400, 2666, 2933, 3200; of DDR5 4800, 5600
  std::uint32_t width = 8;         ///< data pins: 4, 8, 16
  std::uint32_t density_gbit = 8;  ///< 4, 8, 16; of DDR5 8, 16, 32
  char bin = 'B';                  ///< of DDR5: A, B, C
  bool fine = false;               ///< DDR5 with refreshes of fine granularity

  [[nodiscard]] bool ddr5() const { return rate >= 4800; }
};

/// A parameter in clocks, by the rounding JEDEC prescribes for DDR4: up, after taking off
/// 2.5 % of a clock for the rounding of the clock period itself (JESD79-4, "rounding
/// algorithms"; JEDEC 21-C annex L).
[[nodiscard]] constexpr std::uint64_t to_clocks(std::uint64_t ps, std::uint64_t clock_ps) {
  return (ps * 1000 / clock_ps + 974) / 1000;
}

/// The same for DDR5: up, after taking off 0.3 % (JESD79-5, "rounding definitions and
/// algorithms").
[[nodiscard]] constexpr std::uint64_t to_clocks_ddr5(std::uint64_t ps, std::uint64_t clock_ps) {
  return (ps * 997 / clock_ps + 1000) / 1000;
}

/// JESD79-5 for bins 4800A to C and 5600A to C: speed bin tables, timing parameters by speed
/// grade, refresh parameters by density, addressing tables. One rank of a subchannel.
[[nodiscard]] inline Limits speed_bin_ddr5(const Device& device) {
  const bool fast = device.rate == 5600;
  if (!fast && device.rate != 4800) throw std::invalid_argument("no such speed bin");
  if (device.bin < 'A' || device.bin > 'C') throw std::invalid_argument("no such speed bin");
  Limits t;
  t.ddr5 = true;
  t.clock_ps = fast ? 357 : 416;
  constexpr std::uint64_t latency[2][3] = {{34, 40, 42}, {40, 46, 50}};
  constexpr std::uint64_t row[2][3] = {{34, 39, 42}, {40, 45, 50}};
  t.cl = latency[fast][device.bin - 'A'];
  t.cwl = t.cl - 2;
  t.rcd = t.rp = row[fast][device.bin - 'A'];
  const auto at_least = [&](std::uint64_t clocks, std::uint64_t ps) {
    return std::max(clocks, to_clocks_ddr5(ps, t.clock_ps));
  };
  t.ras = at_least(0, 32000);
  t.rc = t.ras + t.rp;
  t.ccd_s = t.rrd_s = 8;
  t.ccd_l = t.rrd_l = at_least(8, 5000);
  t.ccd_l_wr = device.width == 4 ? at_least(32, 20000) : at_least(16, 10000);
  t.wtr_s = at_least(4, 2500);
  t.wtr_l = at_least(16, 10000);
  t.wr = at_least(0, 30000);
  t.rtp = at_least(12, 7500);
  t.ppd = 2;
  t.xp = t.cke = at_least(8, 7500);
  t.ckesr = at_least(8, 5000) + at_least(0, 10000);
  t.xsdll = fast ? 1792 : 1536;
  t.rtrs = 3;  // a controller's choice, not JEDEC's
  t.read_to_write_bubble = 4;

  // Page size: 1 KB for x4 and x8, 2 KB for x16.
  t.faw =
      device.width == 16 ? at_least(40, fast ? 14285 : 16666) : at_least(32, fast ? 11428 : 13333);
  const std::size_t density = device.density_gbit == 8 ? 0 : device.density_gbit == 16 ? 1 : 2;
  constexpr std::uint64_t rfc1_ps[] = {195000, 295000, 410000};
  constexpr std::uint64_t rfc2_ps[] = {130000, 160000, 220000};
  constexpr std::uint64_t rfc_sb_ps[] = {115000, 130000, 190000};
  t.rfc = at_least(0, device.fine ? rfc2_ps[density] : rfc1_ps[density]);
  t.rfc_sb = at_least(0, rfc_sb_ps[density]);
  t.refsb_rd = at_least(0, 30000);
  t.xs = at_least(0, rfc1_ps[density]);
  t.refi = (device.fine ? 1950000 : 3900000) / t.clock_ps;  // a maximum: rounded down
  t.refresh_slack = device.fine ? 8 : 4;

  t.burst_length = 16;
  t.ranks = 1;
  t.bank_groups = device.width == 16 ? 4 : 8;
  t.banks = device.density_gbit == 8 ? 2 : 4;
  t.columns = device.width == 4 ? 2048 : 1024;
  const std::uint64_t banks = t.bank_groups * t.banks;
  t.rows = (std::uint64_t{device.density_gbit} << 30) / (banks * t.columns * device.width);
  return t;
}

/// JESD79-4 for bins 2400T, 2666V, 2933Y and 3200AA: speed bin tables, "timing parameters
/// by speed grade", refresh parameters by density, addressing tables. One rank.
[[nodiscard]] inline Limits speed_bin(const Device& device) {
  if (device.ddr5()) return speed_bin_ddr5(device);
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

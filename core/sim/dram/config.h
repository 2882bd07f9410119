#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/settings.h"
#include "base/tick.h"

namespace nearfar::sim::dram {

/// A count of clock cycles, and a clock edge by its number: edge n lies at n periods.
using Cycle = std::uint64_t;

enum class Standard : std::uint8_t { ddr4, ddr5 };

/// The device's timing parameters in clock cycles, by their JESD79-4 and JESD79-5 names
/// without the t.
struct Timing {
  std::uint32_t cl = 19;     ///< read latency
  std::uint32_t cwl = 18;    ///< write latency
  std::uint32_t rcd = 19;
  std::uint32_t rp = 19;
  std::uint32_t ras = 43;
  std::uint32_t rc = 62;
  std::uint32_t ccd_s = 4;
  std::uint32_t ccd_l = 7;
  std::uint32_t rrd_s = 4;
  std::uint32_t rrd_l = 7;
  std::uint32_t faw = 28;
  std::uint32_t wtr_s = 4;
  std::uint32_t wtr_l = 10;
  std::uint32_t wr = 20;
  std::uint32_t rtp = 10;
  std::uint32_t rfc = 467;
  std::uint32_t refi = 10400;
  std::uint32_t xp = 8;
  std::uint32_t cke = 7;      ///< least time in power-down and, of DDR4, between two
  std::uint32_t ckesr = 8;
  std::uint32_t xs = 480;
  std::uint32_t dllk = 1024;  ///< DLL lock: self-refresh exit to a read or write (tXSDLL)
  std::uint32_t rtrs = 2;     ///< idle data-bus cycles when the rank changes
  std::uint32_t burst = 4;    ///< data-bus cycles of a burst: half its length

  // DDR5 alone.
  std::uint32_t ccd_l_w = 0;   ///< write to write: tCCD_L_WR or tCCD_L_WR2, as the device needs
  std::uint32_t ppd = 0;
  std::uint32_t rfc_sb = 0;    ///< tRFCsb
  std::uint32_t refsb_rd = 0;  ///< tREFSBRD: REFSB to an activate of another bank
};

enum class PagePolicy : std::uint8_t {
  open,    ///< a row stays open until another is needed
  closed,  ///< the last queued access to a row precharges it (RDA, WRA)
};

/// The currents of one device by their JEDEC names, in uA, and its supplies. Averages over the
/// loops that JESD79-4 defines for each; IPP3N flows whenever the device is not in self-refresh.
struct Currents {
  std::uint32_t vdd_mv = 0;
  std::uint32_t vpp_mv = 0;
  std::uint32_t devices = 0;  ///< that make a rank
  std::uint32_t idd0 = 0;     ///< one bank activated and precharged in tRC
  std::uint32_t idd2n = 0;    ///< standby, all banks precharged
  std::uint32_t idd2p = 0;    ///< power-down, likewise
  std::uint32_t idd3n = 0;    ///< standby, all banks active
  std::uint32_t idd3p = 0;    ///< power-down, likewise
  std::uint32_t idd4r = 0;    ///< bursts without a gap
  std::uint32_t idd4w = 0;
  std::uint32_t idd5b = 0;    ///< a refresh every tRFC
  std::uint32_t idd5c = 0;    ///< a same-bank refresh every tRFCsb; DDR5 alone
  std::uint32_t idd6 = 0;     ///< self-refresh
  std::uint32_t ipp0 = 0;
  std::uint32_t ipp3n = 0;
  std::uint32_t ipp4r = 0;
  std::uint32_t ipp4w = 0;
  std::uint32_t ipp5b = 0;
  std::uint32_t ipp6 = 0;
  /// Thousandths of IDD3N - IDD2N that flow as soon as one row is open; the rest grows with the
  /// number of open rows.
  std::uint32_t rho_permille = 1000;
};

/// One DDR4 channel or DDR5 subchannel: its devices, its controller and how addresses are
/// spread over it. The defaults are DDR4-2666V, 8 Gbit x8 (JESD79-4C tables 24, 66, 106-110).
struct Config {
  Standard standard = Standard::ddr4;
  Tick clock{750};
  std::uint32_t ranks = 1;
  std::uint32_t bank_groups = 4;
  std::uint32_t banks = 4;        ///< in a bank group
  std::uint32_t rows = 65536;
  std::uint32_t columns = 1024;
  std::uint32_t burst_length = 8;
  Timing timing;

  std::uint32_t read_queue = 64;
  std::uint32_t write_queue = 64;
  std::uint32_t write_high = 48;  ///< queued writes that start a drain
  std::uint32_t write_low = 16;   ///< queued writes at which it ends
  PagePolicy page = PagePolicy::open;

  bool refresh = true;
  std::uint32_t refresh_postpone = 0;  ///< refreshes that may be owed, 0-8
  bool fine_refresh = false;           ///< DDR5's fine granularity: half the interval
  bool same_bank_refresh = false;      ///< one bank of every group at a time, of DDR5 alone
  Cycle powerdown_idle = 0;            ///< idle cycles before power-down; 0: never
  Cycle selfrefresh_idle = 0;          ///< idle cycles before self-refresh; 0: never

  std::optional<Currents> energy;  ///< without them no energy is counted

  /// Address fields from most to least significant; see mapping.h.
  std::string mapping = "row-rank-bank-column-bank_group";
  bool hash = false;  ///< the row's bits are mixed into the bank; see mapping.h

  std::uint32_t subchannels = 1;       ///< alike, of a channel; each has its own controller
  Bytes subchannel_interleave = line_bytes;  ///< on one before the next one's turn

  /// Refresh commands in a refresh interval.
  [[nodiscard]] std::uint32_t refreshes() const { return same_bank_refresh ? banks : 1; }
  [[nodiscard]] std::uint32_t banks_in_rank() const { return bank_groups * banks; }
  [[nodiscard]] std::uint32_t total_banks() const { return ranks * banks_in_rank(); }
  /// Bytes behind the channel, or one of its subchannels; request addresses lie below it.
  [[nodiscard]] Bytes capacity() const;
};

/// Reads the keys below `prefix` ("dram.", "nvdimm.dram."). Throws InputError when a key is
/// missing or the values cannot describe a channel.
[[nodiscard]] Config config_from(const Settings& settings, const std::string& prefix);

/// Throws InputError, with `prefix` before the key's name, when the values contradict each
/// other or exceed what a channel can be.
void check(const Config& config, const std::string& prefix);

}  // namespace nearfar::sim::dram

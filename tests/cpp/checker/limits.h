#pragma once

#include <cstdint>
#include <string_view>

namespace nearfar::checker {

/// What a DDR4 channel or DDR5 subchannel must obey: JESD79-4 or JESD79-5 parameters in whole
/// clocks, and its geometry.
///
/// Times written in nanoseconds in the standard are already rounded up to clocks here.
/// `speed_bin` (speed_bins.h) fills this from the standard's tables, `limits_from` from an
/// exported model.
struct Limits {
  bool ddr5 = false;
  std::uint64_t clock_ps = 0;

  std::uint64_t cl = 0;
  std::uint64_t cwl = 0;
  std::uint64_t rcd = 0;
  std::uint64_t rp = 0;
  std::uint64_t ras = 0;
  std::uint64_t rc = 0;
  std::uint64_t ccd_s = 0;
  std::uint64_t ccd_l = 0;
  std::uint64_t rrd_s = 0;
  std::uint64_t rrd_l = 0;
  std::uint64_t faw = 0;
  std::uint64_t wtr_s = 0;
  std::uint64_t wtr_l = 0;
  std::uint64_t wr = 0;
  std::uint64_t rtp = 0;
  std::uint64_t rfc = 0;
  std::uint64_t refi = 0;  ///< 0: the channel is not refreshed, refresh intervals are not checked
  std::uint64_t xp = 0;
  std::uint64_t cke = 0;
  std::uint64_t ckesr = 0;
  std::uint64_t xs = 0;
  std::uint64_t xsdll = 0;  ///< tXSDLL = tDLLK; 0: the model has no DLL, not checked
  // DDR5 alone.
  std::uint64_t ccd_l_wr = 0;  ///< write to write in a group, as the device's width wants it
  std::uint64_t ppd = 0;
  std::uint64_t rfc_sb = 0;
  std::uint64_t refsb_rd = 0;
  std::uint64_t rtrs = 0;  ///< idle clocks on the data bus when the driving rank changes

  /// Idle clocks between a read burst and a following write burst: READ to WRITE is
  /// RL + BL/2 - WL + 2 nCK with a 1 tCK write preamble (JESD79-4, read operation figures);
  /// of DDR5 the write preamble, two clocks, comes on top (JESD79-5, read to write).
  std::uint64_t read_to_write_bubble = 2;
  /// tACTPDEN, tPRPDEN, tREFPDEN: 2 nCK from DDR4-2400 on, 1 nCK below (JESD79-4, table of
  /// timing parameters by speed grade, power-down timing).
  std::uint64_t power_down_entry = 2;
  /// REF commands that may be postponed, and pulled in (JESD79-4, refresh command); four of
  /// DDR5 without fine granularity (JESD79-5, refresh operation).
  std::uint64_t refresh_slack = 8;

  bool hashed = false;  ///< how addresses are spread: the row's bits are XORed into the bank
  std::uint64_t burst_length = 8;
  std::uint64_t ranks = 0;
  std::uint64_t bank_groups = 0;
  std::uint64_t banks = 0;  ///< in each bank group
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;

  /// Clocks for which a command occupies the command bus at most: ACT, RD and WR of DDR5.
  [[nodiscard]] std::uint64_t longest_command() const { return ddr5 ? 2 : 1; }
  [[nodiscard]] std::uint64_t burst() const { return burst_length / 2; }
  /// From WR to the clock after its last data: where tWR and tWTR start.
  [[nodiscard]] std::uint64_t write_end() const { return cwl + burst(); }
  [[nodiscard]] std::uint64_t read_to_write() const {
    return cl + burst() + read_to_write_bubble - cwl;
  }

  friend bool operator==(const Limits&, const Limits&) = default;
};

/// Reads `key = value` lines as `nearfar model export` writes them, keys below `prefix`
/// (with or without its final dot). Keys it does not know are skipped, for the text
/// describes the whole machine. Throws InputError for a key that is missing or no number.
///
/// A reader of its own: the checker must not inherit a mistake from the simulator's.
[[nodiscard]] Limits limits_from(std::string_view settings_text, std::string_view prefix);

}  // namespace nearfar::checker

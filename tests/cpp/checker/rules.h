#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "limits.h"
#include "sim/dram/command.h"

namespace nearfar::checker {

using sim::dram::Command;
inline constexpr std::size_t command_count = static_cast<std::size_t>(Command::srx) + 1;

/// Every requirement the checker knows, one name each, so that a violation says which.
/// Section names are those of JESD79-4; what DDR5 alone has is in JESD79-5.
enum class Rule : std::uint8_t {
  // The trace and the command bus.
  time_order,   ///< times never decrease
  clock_edge,   ///< every command is on a rising clock edge
  command_bus,  ///< one command per clock: one chip select low, one CKE action a rank; of
                ///< DDR5, two clocks for ACT, RD and WR
  known_command,  ///< REFSB is DDR5's
  // Addresses exist.
  rank_range,
  bank_range,
  row_range,
  column_range,
  burst_alignment,  ///< a BL8 access starts at a multiple of eight columns
  // State (simplified state diagram; command and CKE truth tables).
  act_open_bank,       ///< ACT needs a closed bank
  access_closed_bank,  ///< RD and WR need an open bank
  access_other_row,    ///< ... open at the row they mean
  ref_open_bank,       ///< REF needs all banks closed
  sre_open_bank,       ///< so does SRE
  power_down,          ///< a rank in power-down takes PDX only
  self_refresh,        ///< a rank in self refresh takes SRX only
  exit_without_entry,  ///< PDX and SRX end what PDE and SRE began
  ref_after_srx,       ///< one REF after SRX before the next SRE
  // A bank.
  tRCD,
  tRAS,
  tRC,
  tRP,
  tRTP,
  tWR,
  RDA_tRP,  ///< RDA to ACT: the implied precharge starts tRTP after RDA
  WRA_tRP,  ///< WRA to ACT: tDAL after the data, the precharge starts tWR after them
  tWTRA,    ///< WR to RDA: DDR5, the precharge that RDA implies comes after tWR
  AP_tRAS,  ///< ... and neither starts before tRAS is over
  // A rank's banks among each other.
  tRRD_S,
  tRRD_L,
  tFAW,
  tCCD_S,
  tCCD_L,
  tCCD_L_WR,  ///< between writes; tCCD_L_WR2 of devices that just write
  tPPD,
  tWTR_S,
  tWTR_L,
  tRTW,  ///< RD to WR: RL + BL/2 - WL + 2 nCK
  // The channel's data bus.
  data_bus,  ///< bursts do not overlap
  tRTRS,     ///< bursts of different ranks keep a bubble
  // Refresh.
  tRP_REF,      ///< PRE to REF or SRE
  RDA_tRP_REF,  ///< RDA to REF or SRE
  WRA_tRP_REF,  ///< WRA to REF or SRE
  AP_tRAS_REF,  ///< ... with the precharge held back by tRAS
  tRFC,
  tRFCsb,      ///< REFSB to anything for its banks, and to any refresh
  tREFSBRD,    ///< REFSB to ACT of another bank
  tRRD_REFsb,  ///< ACT to REFSB: tRRD_L
  refresh_order,      ///< no bank again before every number had its REFSB
  refresh_gap,        ///< REF of a bank at most 9 tREFI apart (5, of DDR5 in normal mode)
  refresh_postponed,  ///< never more than 8 (4) REF behind one each tREFI
  refresh_pulled_in,  ///< never more than 8 (4) REF ahead
  refresh_burst,      ///< at most 16 (8) REF within 2 tREFI
  // Power-down and self refresh.
  tXP,
  tCKE,  ///< CKE high between PDX and the next entry
  tPD,   ///< CKE low in power-down
  tRDPDEN,
  tWRPDEN,
  tWRAPDEN,
  tACTPDEN,
  tPRPDEN,
  tREFPDEN,
  tCKESR,
  tXS,
  tXSDLL,
};

inline constexpr std::size_t rule_count = static_cast<std::size_t>(Rule::tXSDLL) + 1;

[[nodiscard]] std::string_view name(Rule rule);

/// A set of rules; the checker can be run without some of them.
class RuleSet {
 public:
  [[nodiscard]] static RuleSet all() {
    RuleSet set;
    set.bits_.set();
    return set;
  }
  [[nodiscard]] RuleSet without(Rule rule) const {
    RuleSet set = *this;
    set.bits_.reset(static_cast<std::size_t>(rule));
    return set;
  }
  void add(Rule rule) { bits_.set(static_cast<std::size_t>(rule)); }
  [[nodiscard]] bool has(Rule rule) const { return bits_.test(static_cast<std::size_t>(rule)); }
  friend bool operator==(const RuleSet&, const RuleSet&) = default;

 private:
  std::bitset<rule_count> bits_;
};

/// Which pairs of commands a minimum distance binds.
enum class Scope : std::uint8_t {
  bank,         ///< same bank; PREA stands for every bank of its rank
  group,        ///< same rank and bank group
  other_group,  ///< same rank, different bank groups
  number,       ///< same rank, banks of one number
  rank,         ///< same rank
};

/// One row of the standard's table: at least `clocks` between two commands.
struct MinimumDistance {
  Rule rule;
  Scope scope;
  std::uint64_t clocks;
};

/// The rows that bind an earlier and a later command, found by the two commands.
class DistanceTable {
 public:
  explicit DistanceTable(const Limits& limits);

  [[nodiscard]] const std::vector<MinimumDistance>& between(Command earlier, Command later) const {
    return rows_[static_cast<std::size_t>(earlier)][static_cast<std::size_t>(later)];
  }
  /// The longest distance in the table: commands further apart cannot bind each other.
  [[nodiscard]] std::uint64_t longest() const { return longest_; }

 private:
  std::array<std::array<std::vector<MinimumDistance>, command_count>, command_count> rows_;
  std::uint64_t longest_ = 0;
};

}  // namespace nearfar::checker

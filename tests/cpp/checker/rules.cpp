#include "rules.h"

#include <algorithm>
#include <initializer_list>

namespace nearfar::checker {
namespace {

using Commands = std::initializer_list<Command>;
using enum Command;

// Chip select is low for all of these. A rank that refreshes, leaves power-down or leaves
// self refresh takes none of them; PDE and PDX (deselect, with CKE moving) have rules of
// their own.
constexpr auto selected = {act, pre, prea, rd, rda, wr, wra, ref, refsb, sre};

struct Row {
  Rule rule;
  Commands earlier;
  Commands later;
  Scope scope;
  std::uint64_t clocks;
};

struct Named {
  Rule rule;
  std::string_view name;
};

constexpr std::array<Named, rule_count> names = {{
    {Rule::time_order, "time_order"},
    {Rule::clock_edge, "clock_edge"},
    {Rule::command_bus, "command_bus"},
    {Rule::known_command, "known_command"},
    {Rule::rank_range, "rank_range"},
    {Rule::bank_range, "bank_range"},
    {Rule::row_range, "row_range"},
    {Rule::column_range, "column_range"},
    {Rule::burst_alignment, "burst_alignment"},
    {Rule::act_open_bank, "act_open_bank"},
    {Rule::access_closed_bank, "access_closed_bank"},
    {Rule::access_other_row, "access_other_row"},
    {Rule::ref_open_bank, "ref_open_bank"},
    {Rule::sre_open_bank, "sre_open_bank"},
    {Rule::power_down, "power_down"},
    {Rule::self_refresh, "self_refresh"},
    {Rule::exit_without_entry, "exit_without_entry"},
    {Rule::ref_after_srx, "ref_after_srx"},
    {Rule::tRCD, "tRCD"},
    {Rule::tRAS, "tRAS"},
    {Rule::tRC, "tRC"},
    {Rule::tRP, "tRP"},
    {Rule::tRTP, "tRTP"},
    {Rule::tWR, "tWR"},
    {Rule::RDA_tRP, "RDA_tRP"},
    {Rule::WRA_tRP, "WRA_tRP"},
    {Rule::tWTRA, "tWTRA"},
    {Rule::AP_tRAS, "AP_tRAS"},
    {Rule::tRRD_S, "tRRD_S"},
    {Rule::tRRD_L, "tRRD_L"},
    {Rule::tFAW, "tFAW"},
    {Rule::tCCD_S, "tCCD_S"},
    {Rule::tCCD_L, "tCCD_L"},
    {Rule::tCCD_L_WR, "tCCD_L_WR"},
    {Rule::tPPD, "tPPD"},
    {Rule::tWTR_S, "tWTR_S"},
    {Rule::tWTR_L, "tWTR_L"},
    {Rule::tRTW, "tRTW"},
    {Rule::data_bus, "data_bus"},
    {Rule::tRTRS, "tRTRS"},
    {Rule::tRP_REF, "tRP_REF"},
    {Rule::RDA_tRP_REF, "RDA_tRP_REF"},
    {Rule::WRA_tRP_REF, "WRA_tRP_REF"},
    {Rule::AP_tRAS_REF, "AP_tRAS_REF"},
    {Rule::tRFC, "tRFC"},
    {Rule::tRFCsb, "tRFCsb"},
    {Rule::tREFSBRD, "tREFSBRD"},
    {Rule::tRRD_REFsb, "tRRD_REFsb"},
    {Rule::refresh_order, "refresh_order"},
    {Rule::refresh_gap, "refresh_gap"},
    {Rule::refresh_postponed, "refresh_postponed"},
    {Rule::refresh_pulled_in, "refresh_pulled_in"},
    {Rule::refresh_burst, "refresh_burst"},
    {Rule::tXP, "tXP"},
    {Rule::tCKE, "tCKE"},
    {Rule::tPD, "tPD"},
    {Rule::tRDPDEN, "tRDPDEN"},
    {Rule::tWRPDEN, "tWRPDEN"},
    {Rule::tWRAPDEN, "tWRAPDEN"},
    {Rule::tACTPDEN, "tACTPDEN"},
    {Rule::tPRPDEN, "tPRPDEN"},
    {Rule::tREFPDEN, "tREFPDEN"},
    {Rule::tCKESR, "tCKESR"},
    {Rule::tXS, "tXS"},
    {Rule::tXSDLL, "tXSDLL"},
}};

constexpr bool names_are_in_order() {
  for (std::size_t i = 0; i < rule_count; ++i) {
    if (static_cast<std::size_t>(names[i].rule) != i) return false;
  }
  return true;
}
static_assert(names_are_in_order());

}  // namespace

DistanceTable::DistanceTable(const Limits& t) {
  const std::uint64_t write_recovery = t.write_end() + t.wr;
  const auto of_ddr4 = [&](std::uint64_t clocks) { return t.ddr5 ? 0 : clocks; };
  const auto of_ddr5 = [&](std::uint64_t clocks) { return t.ddr5 ? clocks : 0; };
  const std::initializer_list<Row> table = {
      {Rule::tRCD, {act}, {rd, rda, wr, wra}, Scope::bank, t.rcd},
      {Rule::tRAS, {act}, {pre, prea}, Scope::bank, t.ras},
      {Rule::tRC, {act}, {act}, Scope::bank, t.rc},
      // Also after a PRE of a bank already closed: the last PRE to the bank counts.
      {Rule::tRP, {pre, prea}, {act}, Scope::bank, t.rp},
      {Rule::tRTP, {rd, rda}, {pre, prea}, Scope::bank, t.rtp},
      {Rule::tWR, {wr, wra}, {pre, prea}, Scope::bank, write_recovery},
      {Rule::RDA_tRP, {rda}, {act}, Scope::bank, t.rtp + t.rp},
      {Rule::WRA_tRP, {wra}, {act}, Scope::bank, write_recovery + t.rp},
      {Rule::tWTRA, {wr}, {rda}, Scope::bank, of_ddr5(write_recovery - t.rtp)},

      {Rule::tRRD_S, {act}, {act}, Scope::other_group, t.rrd_s},
      {Rule::tRRD_L, {act}, {act}, Scope::group, t.rrd_l},
      {Rule::tCCD_S, {rd, rda}, {rd, rda}, Scope::other_group, t.ccd_s},
      {Rule::tCCD_S, {wr, wra}, {wr, wra}, Scope::other_group, t.ccd_s},
      {Rule::tCCD_L, {rd, rda}, {rd, rda}, Scope::group, t.ccd_l},
      {Rule::tCCD_L, {wr, wra}, {wr, wra}, Scope::group, of_ddr4(t.ccd_l)},
      {Rule::tCCD_L_WR, {wr, wra}, {wr, wra}, Scope::group, of_ddr5(t.ccd_l_wr)},
      {Rule::tPPD, {pre, prea}, {pre, prea}, Scope::rank, of_ddr5(t.ppd)},
      {Rule::tWTR_S, {wr, wra}, {rd, rda}, Scope::other_group, t.write_end() + t.wtr_s},
      {Rule::tWTR_L, {wr, wra}, {rd, rda}, Scope::group, t.write_end() + t.wtr_l},
      {Rule::tRTW, {rd, rda}, {wr, wra}, Scope::rank, t.read_to_write()},

      {Rule::tRP_REF, {pre, prea}, {ref, sre}, Scope::rank, t.rp},
      {Rule::RDA_tRP_REF, {rda}, {ref, sre}, Scope::rank, t.rtp + t.rp},
      {Rule::WRA_tRP_REF, {wra}, {ref, sre}, Scope::rank, write_recovery + t.rp},
      {Rule::tRFC, {ref}, selected, Scope::rank, t.rfc},

      {Rule::tRP_REF, {pre}, {refsb}, Scope::number, t.rp},
      {Rule::tRP_REF, {prea}, {refsb}, Scope::rank, t.rp},
      {Rule::RDA_tRP_REF, {rda}, {refsb}, Scope::number, t.rtp + t.rp},
      {Rule::WRA_tRP_REF, {wra}, {refsb}, Scope::number, write_recovery + t.rp},
      {Rule::tRRD_REFsb, {act}, {refsb}, Scope::rank, of_ddr5(t.rrd_l)},
      {Rule::tRFCsb, {refsb}, {act, pre, rd, rda, wr, wra}, Scope::number, t.rfc_sb},
      // A PREA is for the banks under refresh as well.
      {Rule::tRFCsb, {refsb}, {prea, ref, refsb, sre}, Scope::rank, t.rfc_sb},
      {Rule::tREFSBRD, {refsb}, {act}, Scope::rank, t.refsb_rd},

      {Rule::tXP, {pdx}, selected, Scope::rank, t.xp},
      // DDR5 has no CKE: tXP is to power-down as well.
      {Rule::tXP, {pdx}, {pde}, Scope::rank, of_ddr5(t.xp)},
      {Rule::tCKE, {pdx}, {pde, sre}, Scope::rank, of_ddr4(t.cke)},
      // tPD(min) = tCKE(min) of DDR4. Its maximum, 9 (5) tREFI, follows from refresh_gap.
      {Rule::tPD, {pde}, {pdx}, Scope::rank, t.cke},
      {Rule::tRDPDEN, {rd, rda}, {pde}, Scope::rank, t.cl + t.burst() + 1},
      {Rule::tWRPDEN, {wr}, {pde}, Scope::rank, write_recovery + (t.ddr5 ? 1 : 0)},
      {Rule::tWRAPDEN, {wra}, {pde}, Scope::rank, write_recovery + 1},
      {Rule::tACTPDEN, {act}, {pde}, Scope::rank, t.power_down_entry},
      {Rule::tPRPDEN, {pre, prea}, {pde}, Scope::rank, t.power_down_entry},
      {Rule::tREFPDEN, {ref, refsb}, {pde}, Scope::rank, t.power_down_entry},

      {Rule::tCKESR, {sre}, {srx}, Scope::rank, t.ckesr},
      {Rule::tXS, {srx}, selected, Scope::rank, t.xs},
      // CKE stays high while self refresh is left. Whether power-down must wait longer, for
      // a REF or for the DLL, data sheets answer differently; tXS is common to them.
      {Rule::tXS, {srx}, {pde}, Scope::rank, t.xs},
      // Commands that need a locked DLL are RD and RDA; of DDR5 writes too.
      {Rule::tXSDLL, {srx}, {rd, rda}, Scope::rank, t.xsdll},
      {Rule::tXSDLL, {srx}, {wr, wra}, Scope::rank, of_ddr5(t.xsdll)},
  };
  for (const Row& row : table) {
    if (row.clocks == 0) continue;
    for (const Command earlier : row.earlier) {
      for (const Command later : row.later) {
        rows_[static_cast<std::size_t>(earlier)][static_cast<std::size_t>(later)].push_back(
            {row.rule, row.scope, row.clocks});
      }
    }
    longest_ = std::max(longest_, row.clocks);
  }
}

std::string_view name(Rule rule) { return names[static_cast<std::size_t>(rule)].name; }

}  // namespace nearfar::checker

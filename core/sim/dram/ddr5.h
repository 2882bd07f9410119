#pragma once

#include <cstdint>

#include "sim/dram/constraint.h"

namespace nearfar::sim::dram {

/// DDR5 SDRAM: every minimum distance between two commands of a subchannel (JESD79-5, command
/// timing and the sections on refresh, power-down and self-refresh; 1N mode, CRC off, DQS
/// offset 0, write preamble of two clocks). The controller's rules rest on this table alone.
/// `t.rtrs` is the board's, not the device's.
namespace ddr5 {

using T = const Timing&;
using enum Command;

/// Two clocks of write preamble, and JEDEC's two clocks between a read and a write burst.
constexpr std::int64_t read_to_write(T t) { return delivered(t) + 2 + 2 - t.cwl; }
/// tACTPDEN, tPRPDEN and tREFPDEN.
constexpr std::int64_t pden(T) { return 2; }
/// ACT, RD and WR take two clocks of the command bus, every other command one.
constexpr std::int64_t two_cycles(T) { return 2; }

inline constexpr CommandSet two_cycle{act, rd, rda, wr, wra};
inline constexpr CommandSet every{act, pre, prea, rd, rda, wr, wra, ref, refsb, pde, pdx, sre, srx};

// clang-format off: a row stays a row.
inline constexpr Constraint constraints[] = {
    // The command bus is the ranks' in common.
    {two_cycle, every, Scope::rank, two_cycles},
    {two_cycle, every, Scope::other_ranks, two_cycles},

    // Rows of one bank. An auto-precharge starts no sooner than tRAS after the ACT; ACT-to-ACT
    // tRC holds the next ACT back for that. It starts tRTP after the RDA, so an RDA waits until
    // a write before it will have recovered by then (tWTRA).
    {act, column, Scope::bank, [](T t) -> std::int64_t { return t.rcd; }},
    {act, pre, Scope::bank, [](T t) -> std::int64_t { return t.ras; }},
    {act, act, Scope::bank, [](T t) -> std::int64_t { return t.rc; }},
    {pre, act, Scope::bank, [](T t) -> std::int64_t { return t.rp; }},
    {rd, pre, Scope::bank, [](T t) -> std::int64_t { return t.rtp; }},
    {wr, pre, Scope::bank, [](T t) { return written(t) + t.wr; }},
    {wr, rda, Scope::bank, [](T t) { return written(t) + t.wr - t.rtp; }},
    {rda, act, Scope::bank, [](T t) -> std::int64_t { return t.rtp + t.rp; }},
    {wra, act, Scope::bank, [](T t) { return written(t) + t.wr + t.rp; }},

    // Activates share a rank's charge pumps, a bank group's more than its siblings'.
    {act, act, Scope::bank_group, [](T t) -> std::int64_t { return t.rrd_l; }},
    {act, act, Scope::rank, [](T t) -> std::int64_t { return t.rrd_s; }},
    {act, act, Scope::rank, [](T t) -> std::int64_t { return t.faw; }, 4},

    // Column commands share a bank group's and a rank's data path. A device with four data
    // pins writes half of what its error correction covers: it reads, modifies and writes
    // (tCCD_L_WR); a wider one just writes (tCCD_L_WR2).
    {column_read, column_read, Scope::bank_group, [](T t) -> std::int64_t { return t.ccd_l; }},
    {column_write, column_write, Scope::bank_group, [](T t) -> std::int64_t { return t.ccd_l_w; }},
    {column_read, column_read, Scope::rank, [](T t) -> std::int64_t { return t.ccd_s; }},
    {column_write, column_write, Scope::rank, [](T t) -> std::int64_t { return t.ccd_s; }},
    {column_write, column_read, Scope::bank_group, [](T t) { return written(t) + t.wtr_l; }},
    {column_write, column_read, Scope::rank, [](T t) { return written(t) + t.wtr_s; }},
    {column_read, column_write, Scope::rank, read_to_write},

    // Ranks share the data bus: one burst, a bubble, the next.
    {column_read, column_read, Scope::other_ranks,
     [](T t) -> std::int64_t { return t.burst + t.rtrs; }},
    {column_write, column_write, Scope::other_ranks,
     [](T t) -> std::int64_t { return t.burst + t.rtrs; }},
    {column_read, column_write, Scope::other_ranks,
     [](T t) { return delivered(t) + t.rtrs - t.cwl; }},
    {column_write, column_read, Scope::other_ranks,
     [](T t) { return written(t) + t.rtrs - t.cl; }},

    // Precharges of a rank, and precharging all of it.
    {{pre, prea}, {pre, prea}, Scope::rank, [](T t) -> std::int64_t { return t.ppd; }},
    {act, prea, Scope::rank, [](T t) -> std::int64_t { return t.ras; }},
    {column_read, prea, Scope::rank, [](T t) -> std::int64_t { return t.rtp; }},
    {column_write, prea, Scope::rank, [](T t) { return written(t) + t.wr; }},
    {prea, act, Scope::rank, [](T t) -> std::int64_t { return t.rp; }},

    // Refresh of all banks and self-refresh want every bank precharged, an auto-precharge
    // finished too.
    {act, {ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rc; }},
    {{pre, prea}, {ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rp; }},
    {rda, {ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rtp + t.rp; }},
    {wra, {ref, sre}, Scope::rank, [](T t) { return written(t) + t.wr + t.rp; }},
    {ref, {act, ref, refsb, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rfc; }},

    // Refresh of the same bank in every group wants those precharged, and is an activate to
    // the others. PREA is to the banks under refresh as well.
    {act, refsb, Scope::same_bank, [](T t) -> std::int64_t { return t.rc; }},
    {act, refsb, Scope::rank, [](T t) -> std::int64_t { return t.rrd_l; }},
    {pre, refsb, Scope::same_bank, [](T t) -> std::int64_t { return t.rp; }},
    {prea, refsb, Scope::rank, [](T t) -> std::int64_t { return t.rp; }},
    {rda, refsb, Scope::same_bank, [](T t) -> std::int64_t { return t.rtp + t.rp; }},
    {wra, refsb, Scope::same_bank, [](T t) { return written(t) + t.wr + t.rp; }},
    {refsb, act, Scope::same_bank, [](T t) -> std::int64_t { return t.rfc_sb; }},
    {refsb, act, Scope::rank, [](T t) -> std::int64_t { return t.refsb_rd; }},
    {refsb, {prea, ref, refsb, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rfc_sb; }},

    // Power-down: entry after the last command has had its effect, then a least stay (tPD),
    // then tXP.
    {act, pde, Scope::rank, pden},
    {{pre, prea}, pde, Scope::rank, pden},
    {{ref, refsb}, pde, Scope::rank, pden},
    {column_read, {pde, sre}, Scope::rank, [](T t) { return delivered(t) + 1; }},
    {column_write, pde, Scope::rank, [](T t) { return written(t) + t.wr + 1; }},
    {pde, pdx, Scope::rank, [](T t) -> std::int64_t { return t.cke; }},
    {pdx, {act, pre, prea, rd, rda, wr, wra, ref, refsb, pde, sre}, Scope::rank,
     [](T t) -> std::int64_t { return t.xp; }},

    // Self-refresh.
    {sre, srx, Scope::rank, [](T t) -> std::int64_t { return t.ckesr; }},
    {srx, {act, pre, prea, ref, refsb, sre, pde}, Scope::rank,
     [](T t) -> std::int64_t { return t.xs; }},
    {srx, column, Scope::rank, [](T t) -> std::int64_t { return t.dllk; }},
};
// clang-format on

}  // namespace ddr5
}  // namespace nearfar::sim::dram

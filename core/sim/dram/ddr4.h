#pragma once

#include <cstdint>

#include "sim/dram/constraint.h"

namespace nearfar::sim::dram {

/// DDR4 SDRAM: every minimum distance between two commands (JESD79-4, command timing and the
/// sections on power-down and self-refresh; additive latency 0, CRC and parity off). The
/// controller's rules rest on this table alone. `t.rtrs` is the board's, not the device's.
namespace ddr4 {

using T = const Timing&;
using enum Command;

/// tACTPDEN, tPRPDEN and tREFPDEN of the speeds from DDR4-2400 up; 1 below.
constexpr std::int64_t pden(T) { return 2; }

// clang-format off: a row stays a row.
inline constexpr Constraint constraints[] = {
    // Rows of one bank. An auto-precharge starts no sooner than tRAS after the ACT; ACT-to-ACT
    // tRC holds the next ACT back for that.
    {act, column, Scope::bank, [](T t) -> std::int64_t { return t.rcd; }},
    {act, pre, Scope::bank, [](T t) -> std::int64_t { return t.ras; }},
    {act, act, Scope::bank, [](T t) -> std::int64_t { return t.rc; }},
    {pre, act, Scope::bank, [](T t) -> std::int64_t { return t.rp; }},
    {rd, pre, Scope::bank, [](T t) -> std::int64_t { return t.rtp; }},
    {wr, pre, Scope::bank, [](T t) { return written(t) + t.wr; }},
    {rda, act, Scope::bank, [](T t) -> std::int64_t { return t.rtp + t.rp; }},
    {wra, act, Scope::bank, [](T t) { return written(t) + t.wr + t.rp; }},

    // Activates share a rank's charge pumps, a bank group's more than its siblings'.
    {act, act, Scope::bank_group, [](T t) -> std::int64_t { return t.rrd_l; }},
    {act, act, Scope::rank, [](T t) -> std::int64_t { return t.rrd_s; }},
    {act, act, Scope::rank, [](T t) -> std::int64_t { return t.faw; }, 4},

    // Column commands share a bank group's and a rank's data path.
    {column_read, column_read, Scope::bank_group, [](T t) -> std::int64_t { return t.ccd_l; }},
    {column_write, column_write, Scope::bank_group, [](T t) -> std::int64_t { return t.ccd_l; }},
    {column_read, column_read, Scope::rank, [](T t) -> std::int64_t { return t.ccd_s; }},
    {column_write, column_write, Scope::rank, [](T t) -> std::int64_t { return t.ccd_s; }},
    {column_write, column_read, Scope::bank_group, [](T t) { return written(t) + t.wtr_l; }},
    {column_write, column_read, Scope::rank, [](T t) { return written(t) + t.wtr_s; }},
    {column_read, column_write, Scope::rank, [](T t) { return delivered(t) + 2 - t.cwl; }},

    // Ranks share the data bus: one burst, a bubble, the next.
    {column_read, column_read, Scope::other_ranks,
     [](T t) -> std::int64_t { return t.burst + t.rtrs; }},
    {column_write, column_write, Scope::other_ranks,
     [](T t) -> std::int64_t { return t.burst + t.rtrs; }},
    {column_read, column_write, Scope::other_ranks,
     [](T t) { return delivered(t) + t.rtrs - t.cwl; }},
    {column_write, column_read, Scope::other_ranks,
     [](T t) { return written(t) + t.rtrs - t.cl; }},

    // Precharging a whole rank.
    {act, prea, Scope::rank, [](T t) -> std::int64_t { return t.ras; }},
    {column_read, prea, Scope::rank, [](T t) -> std::int64_t { return t.rtp; }},
    {column_write, prea, Scope::rank, [](T t) { return written(t) + t.wr; }},
    {prea, act, Scope::rank, [](T t) -> std::int64_t { return t.rp; }},

    // Refresh and self-refresh want every bank precharged, an auto-precharge finished too.
    {act, {ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rc; }},
    {{pre, prea}, {ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rp; }},
    {rda, {ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rtp + t.rp; }},
    {wra, {ref, sre}, Scope::rank, [](T t) { return written(t) + t.wr + t.rp; }},
    {ref, {act, ref, sre}, Scope::rank, [](T t) -> std::int64_t { return t.rfc; }},

    // Power-down: entry after the last command has had its effect, then a least stay, then a
    // least time awake.
    {act, pde, Scope::rank, pden},
    {{pre, prea}, pde, Scope::rank, pden},
    {ref, pde, Scope::rank, pden},
    {column_read, {pde, sre}, Scope::rank, [](T t) { return delivered(t) + 1; }},
    {wr, pde, Scope::rank, [](T t) { return written(t) + t.wr; }},
    {wra, pde, Scope::rank, [](T t) { return written(t) + t.wr + 1; }},
    {pde, pdx, Scope::rank, [](T t) -> std::int64_t { return t.cke; }},
    {pdx, {pde, sre}, Scope::rank, [](T t) -> std::int64_t { return t.cke; }},
    {pdx, {act, pre, prea, rd, rda, wr, wra, ref, sre}, Scope::rank,
     [](T t) -> std::int64_t { return t.xp; }},

    // Self-refresh.
    {sre, srx, Scope::rank, [](T t) -> std::int64_t { return t.ckesr; }},
    {srx, {act, pre, prea, ref, sre, pde}, Scope::rank,
     [](T t) -> std::int64_t { return t.xs; }},
    {srx, column, Scope::rank, [](T t) -> std::int64_t { return t.dllk; }},
};
// clang-format on

}  // namespace ddr4
}  // namespace nearfar::sim::dram

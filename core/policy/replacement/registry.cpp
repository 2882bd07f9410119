#include "policy/replacement/registry.h"

namespace nearfar::policy {
namespace {

constexpr std::array entries = {
    ReplacementEntry{"fifo", make_fifo_replacement}, ReplacementEntry{"clock", make_clock},
    ReplacementEntry{"lru-approx", make_lru_approx}, ReplacementEntry{"2q", make_two_q},
    ReplacementEntry{"s3-fifo", make_s3_fifo},       ReplacementEntry{"raminate", make_raminate},
    ReplacementEntry{"regret", make_regret},
};

constexpr std::uint32_t s3_fifo = 4;
static_assert(entries[s3_fifo].name == "s3-fifo");

}  // namespace

std::uint32_t default_replacement() { return s3_fifo; }

std::span<const ReplacementEntry> replacements() { return entries; }

}  // namespace nearfar::policy

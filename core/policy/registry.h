#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/tick.h"
#include "policy/page.h"
#include "policy/storage.h"

/// All policies of all families, and the only place where their names are written. To add one is to
/// write its file, which defines the function named here, and to add its line. New lines go to the
/// end of their list: launchers and records of faults name a policy by its position.

/// What leaves near memory where that is a cache of pages (replacement/replacement.h).
#define NEARFAR_REPLACEMENT_POLICIES(policy)                                                     \
  policy("fifo", make_fifo) policy("clock", make_clock) policy("lru-approx", make_lru_approx)    \
      policy("2q", make_two_q) policy("s3-fifo", make_s3_fifo) policy("raminate", make_raminate) \
          policy("regret", make_regret)

/// What two directly addressed tiers exchange (placement/placement.h).
#define NEARFAR_PLACEMENT_POLICIES(policy)                                      \
  policy("static", make_static) policy("raminate", make_flat_raminate)          \
      policy("numa-balancing", make_numa_balancing) policy("hemem", make_hemem) \
          policy("payback", make_payback)

/// Bounds for the others: they see every access to memory (oracle/oracle.h).
#define NEARFAR_ORACLES(policy)                                                 \
  policy("oracle:fifo", make_fifo_oracle) policy("oracle:lru", make_lru_oracle) \
      policy("oracle:hot-cold", make_hot_cold_oracle)

namespace nearfar::policy {

class Replacement;
class Placement;
class Oracle;
struct OracleLimits;

/// A policy by its name; `near_pages` is what near memory holds, at least 1.
struct ReplacementEntry {
  std::string_view name;
  Replacement& (*make)(PolicyStorage& at, PageIndex near_pages);
};
struct PlacementEntry {
  std::string_view name;
  Placement& (*make)(PolicyStorage& at, PageIndex near_pages);
};
struct OracleEntry {
  std::string_view name;
  std::unique_ptr<Oracle> (*make)(const OracleLimits& limits);
};

#define NEARFAR_DECLARE(name, make) \
  [[nodiscard]] Replacement& make(PolicyStorage& at, PageIndex near_pages);
NEARFAR_REPLACEMENT_POLICIES(NEARFAR_DECLARE)
#undef NEARFAR_DECLARE
#define NEARFAR_DECLARE(name, make) \
  [[nodiscard]] Placement& make(PolicyStorage& at, PageIndex near_pages);
NEARFAR_PLACEMENT_POLICIES(NEARFAR_DECLARE)
#undef NEARFAR_DECLARE
#define NEARFAR_DECLARE(name, make) \
  [[nodiscard]] std::unique_ptr<Oracle> make(const OracleLimits& limits);
NEARFAR_ORACLES(NEARFAR_DECLARE)
#undef NEARFAR_DECLARE

#define NEARFAR_ENTRY(name, make) {name, make},
inline constexpr auto replacement_entries =
    std::to_array<ReplacementEntry>({NEARFAR_REPLACEMENT_POLICIES(NEARFAR_ENTRY)});
inline constexpr auto placement_entries =
    std::to_array<PlacementEntry>({NEARFAR_PLACEMENT_POLICIES(NEARFAR_ENTRY)});
inline constexpr auto oracle_entries = std::to_array<OracleEntry>({NEARFAR_ORACLES(NEARFAR_ENTRY)});
#undef NEARFAR_ENTRY
[[nodiscard]] inline std::span<const ReplacementEntry> replacements() {
  return replacement_entries;
}
[[nodiscard]] inline std::span<const PlacementEntry> placements() { return placement_entries; }
[[nodiscard]] inline std::span<const OracleEntry> oracles() { return oracle_entries; }

/// The position of the replacement policy that is used where none is named.
[[nodiscard]] constexpr std::uint32_t default_replacement() {
  std::uint32_t at = 0;
  while (replacement_entries[at].name != "s3-fifo") ++at;
  return at;
}

}  // namespace nearfar::policy

#include "policy/registry.h"

#include <algorithm>
#include <vector>

namespace nearfar::policy {
namespace {

constexpr bool names_differ() {
  std::vector<std::string_view> names;
  names.reserve(replacement_entries.size() + placement_entries.size() + oracle_entries.size());
  for (const ReplacementEntry& entry : replacement_entries) names.push_back(entry.name);
  for (const PlacementEntry& entry : placement_entries) names.push_back(entry.name);
  for (const OracleEntry& entry : oracle_entries) names.push_back(entry.name);
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}
static_assert(names_differ(), "a name means one policy, whatever its family");

}  // namespace
}  // namespace nearfar::policy

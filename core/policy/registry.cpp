#include "policy/registry.h"

#include <algorithm>
#include <vector>

namespace nearfar::policy {
namespace {

template <typename Entries>
constexpr bool names_differ(const Entries& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}
static_assert(names_differ(replacement_entries), "a name means one policy of its family");
static_assert(names_differ(placement_entries), "a name means one policy of its family");
static_assert(names_differ(oracle_entries), "a name means one policy of its family");

}  // namespace
}  // namespace nearfar::policy

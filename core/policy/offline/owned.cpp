#include "policy/offline/owned.h"

#include <span>
#include <string>

#include "base/error.h"
#include "policy/offline/names.h"

namespace nearfar::policy {
namespace {

template <typename Entry>
const Entry& find(std::string_view name, std::span<const Entry> family) {
  std::vector<std::string_view> names;
  for (const Entry& entry : family) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  refuse_name("policy", name, names);
}

void check_near(PageIndex near_pages) {
  if (near_pages == 0) {
    throw InputError("policy: found near memory of 0 pages, expected at least 1");
  }
}

}  // namespace

Replacement& make_replacement(std::string_view name, PolicyStorage& at, PageIndex near_pages) {
  check_near(near_pages);
  return find(name, replacements()).make(at, near_pages);
}

Placement& make_placement(std::string_view name, PolicyStorage& at, PageIndex near_pages) {
  check_near(near_pages);
  return find(name, placements()).make(at, near_pages);
}

std::unique_ptr<Oracle> make_oracle(std::string_view name, const OracleLimits& limits) {
  const std::string prefix = "oracle:";
  const std::string full = (name.starts_with(prefix) ? "" : prefix) + std::string(name);
  return find(full, oracles()).make(limits);
}

}  // namespace nearfar::policy

#include "policy/offline/owned.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "base/error.h"

namespace nearfar::policy {
namespace {

/// Letters to insert, delete or exchange to make one word of the other (Levenshtein, 1966).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void refuse(std::string_view name, std::span<const std::string_view> family) {
  std::string known;
  std::string_view nearest = family.front();
  for (const std::string_view each : family) {
    if (!known.empty()) known += ", ";
    known += each;
    if (distance(name, each) < distance(name, nearest)) nearest = each;
  }
  throw InputError("policy: found '" + std::string(name) + "', expected one of " + known +
                   "; did you mean " + std::string(nearest) + "?");
}

template <typename Entry>
const Entry& find(std::string_view name, std::span<const Entry> family) {
  std::vector<std::string_view> names;
  for (const Entry& entry : family) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  refuse(name, names);
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

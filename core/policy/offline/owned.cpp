#include "policy/offline/owned.h"

#include <algorithm>
#include <cstddef>
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

[[noreturn]] void refuse(std::string_view name) {
  std::string known;
  std::string_view nearest = replacements().front().name;
  for (const ReplacementEntry& each : replacements()) {
    if (!known.empty()) known += ", ";
    known += each.name;
    if (distance(name, each.name) < distance(name, nearest)) nearest = each.name;
  }
  throw InputError("policy: found '" + std::string(name) + "', expected one of " + known +
                   "; did you mean " + std::string(nearest) + "?");
}

Replacement& make(std::string_view name, ReplacementStorage& at, PageIndex capacity) {
  if (capacity == 0) throw InputError("policy: found near memory of 0 pages, expected at least 1");
  for (const ReplacementEntry& entry : replacements()) {
    if (entry.name == name) return entry.make(at, capacity);
  }
  refuse(name);
}

}  // namespace

OwnedReplacement::OwnedReplacement(std::string_view name, PageIndex capacity)
    : policy_(&make(name, *storage_, capacity)) {}

void OwnedReplacement::reserve(PageIndex pages) {
  const std::size_t words = pages * policy_->bytes_per_page() / sizeof records_[0];
  if (words <= records_.size()) return;
  // Half as much again, as pages are mostly named one after the other.
  records_.resize(words + words / 2);
  policy_->keep_in(records_.data());
}

}  // namespace nearfar::policy

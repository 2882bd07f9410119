#include "policy/offline/names.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

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

}  // namespace

void refuse_name(std::string_view what, std::string_view name,
                 std::span<const std::string_view> known) {
  std::string all;
  std::string_view nearest = known.front();
  for (const std::string_view each : known) {
    if (!all.empty()) all += ", ";
    all += each;
    if (distance(name, each) < distance(name, nearest)) nearest = each;
  }
  throw InputError(std::string(what) + ": found '" + std::string(name) + "', expected one of " +
                   all + "; did you mean " + std::string(nearest) + "?");
}

}  // namespace nearfar::policy

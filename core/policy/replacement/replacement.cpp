#include "policy/replacement/replacement.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/error.h"
#include "policy/replacement/registry.h"

namespace nearfar::policy {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Replacement> (*make)(PageIndex capacity);
};

constexpr std::array entries = {
    Entry{"fifo", make_fifo_replacement}, Entry{"clock", make_clock},
    Entry{"lru-approx", make_lru_approx}, Entry{"2q", make_two_q},
    Entry{"s3-fifo", make_s3_fifo},       Entry{"raminate", make_raminate},
    Entry{"regret", make_regret},
};

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
  std::string_view nearest = entries[0].name;
  for (const std::string_view each : replacement_names()) {
    known += (known.empty() ? "" : ", ") + std::string(each);
    if (distance(name, each) < distance(name, nearest)) nearest = each;
  }
  throw InputError("policy: found '" + std::string(name) + "', expected one of " + known +
                   "; did you mean " + std::string(nearest) + "?");
}

}  // namespace

std::span<const std::string_view> replacement_names() {
  static constexpr auto names = [] {
    std::array<std::string_view, entries.size()> all;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = entries[i].name;
    return all;
  }();
  return names;
}

std::unique_ptr<Replacement> make_replacement(std::string_view name, PageIndex capacity) {
  if (capacity == 0) throw InputError("policy: found near memory of 0 pages, expected at least 1");
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.make(capacity);
  }
  refuse(name);
}

}  // namespace nearfar::policy

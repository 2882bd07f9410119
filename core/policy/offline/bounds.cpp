#include "policy/offline/bounds.h"

#include <algorithm>
#include <queue>
#include <utility>
#include <vector>

namespace nearfar::policy {

std::uint64_t belady_misses(const Visits& visits, PageIndex near) {
  const auto& all = visits.all();
  constexpr std::uint64_t never = ~std::uint64_t{0};

  // When each visit's page is visited again, told from the end.
  std::vector<std::uint64_t> again(all.size(), never);
  std::vector<std::uint64_t> next(visits.pages(), never);
  for (std::size_t at = all.size(); at-- > 0;) {
    again[at] = std::exchange(next[all[at].page()], at);
  }

  // Near pages by their next visit, the latest first. An entry is out of date when its page has
  // been visited since; such a page is needed at another time than the entry says.
  std::vector<std::uint64_t> needed(visits.pages(), 0);
  std::vector<bool> is_near(visits.pages());
  std::priority_queue<std::pair<std::uint64_t, PageIndex>> latest;
  std::uint64_t misses = 0;
  PageIndex used = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const PageIndex page = all[at].page();
    if (!is_near[page]) {
      ++misses;
      if (used < near) {
        ++used;
      } else {
        while (!is_near[latest.top().second] || needed[latest.top().second] != latest.top().first) {
          latest.pop();
        }
        is_near[latest.top().second] = false;
        latest.pop();
      }
      is_near[page] = true;
    }
    needed[page] = again[at];
    latest.emplace(again[at], page);
  }
  return misses;
}

std::uint64_t static_misses(const Visits& visits, PageIndex near) {
  std::vector<std::uint64_t> counts(visits.pages());
  for (const Visits::Visit visit : visits.all()) ++counts[visit.page()];
  std::sort(counts.begin(), counts.end(), std::greater<>());
  // The chosen pages miss at their first touch alone.
  std::uint64_t misses = std::min<std::uint64_t>(near, counts.size());
  for (std::size_t i = near; i < counts.size(); ++i) misses += counts[i];
  return misses;
}

}  // namespace nearfar::policy

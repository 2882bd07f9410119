#include "policy/offline/bounds.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace nearfar::policy {
namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

/// When each visit's page is visited again; `never` where it is released before that.
std::vector<std::uint64_t> next_visits(const Visits& visits) {
  const auto& all = visits.all();
  std::vector<std::uint64_t> again(all.size(), never);
  std::vector<std::uint64_t> next(visits.pages(), never);
  for (std::size_t at = all.size(); at-- > 0;) {
    again[at] = std::exchange(next[all[at].page()], all[at].release() ? never : at);
  }
  return again;
}

/// Pages that are near, of which the one that is needed last can be taken.
class NearPages {
 public:
  explicit NearPages(PageIndex pages) : needed_(pages), near_(pages) {}

  [[nodiscard]] bool has(PageIndex page) const { return near_[page]; }
  [[nodiscard]] PageIndex size() const { return size_; }
  /// The page is near, and needed then.
  void set(PageIndex page, std::uint64_t needed) {
    if (!near_[page]) ++size_;
    near_[page] = true;
    needed_[page] = needed;
    // Entries that are out of date go before they are more than those that are not.
    if (entries_.size() >= 2 * std::size_t{size_} + 64) rebuild();
    entries_.emplace_back(needed, page);
    std::push_heap(entries_.begin(), entries_.end());
  }
  void remove(PageIndex page) {
    if (near_[page]) --size_;
    near_[page] = false;
  }
  void remove_last_needed() {
    while (true) {
      const Entry entry = entries_.front();
      std::pop_heap(entries_.begin(), entries_.end());
      entries_.pop_back();
      if (is_true(entry)) return remove(entry.second);
    }
  }

 private:
  using Entry = std::pair<std::uint64_t, PageIndex>;  // when that page is needed

  /// Of a page that is visited before an entry says so there is another.
  [[nodiscard]] bool is_true(const Entry& entry) const {
    return near_[entry.second] && needed_[entry.second] == entry.first;
  }
  void rebuild() {
    std::erase_if(entries_, [this](const Entry& entry) { return !is_true(entry); });
    std::make_heap(entries_.begin(), entries_.end());
  }

  std::vector<std::uint64_t> needed_;
  std::vector<bool> near_;
  std::vector<Entry> entries_;  // a heap, the latest first
  PageIndex size_ = 0;
};

}  // namespace

std::uint64_t belady_misses(const Visits& visits, PageIndex near) {
  if (near == 0) throw InputError("near: found 0 pages, expected at least one");
  const auto& all = visits.all();
  const std::vector<std::uint64_t> again = next_visits(visits);
  NearPages pages(visits.pages());
  std::uint64_t misses = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const PageIndex page = all[at].page();
    if (all[at].release()) {
      pages.remove(page);
      continue;
    }
    if (!pages.has(page)) {
      ++misses;
      if (pages.size() == near) pages.remove_last_needed();
    }
    pages.set(page, again[at]);
  }
  return misses;
}

std::uint64_t static_misses(const Visits& visits, PageIndex near) {
  // Of each page: how many visits are not the first of all or after a release.
  std::vector<std::uint64_t> saved(visits.pages());
  std::vector<bool> touched(visits.pages());
  for (const Visits::Visit visit : visits.all()) {
    if (touched[visit.page()] && !visit.release()) ++saved[visit.page()];
    touched[visit.page()] = !visit.release();
  }
  std::sort(saved.begin(), saved.end(), std::greater<>());
  std::uint64_t misses = visits.visits();
  for (std::size_t i = 0; i < std::min<std::size_t>(near, saved.size()); ++i) misses -= saved[i];
  return misses;
}

}  // namespace nearfar::policy

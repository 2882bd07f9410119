#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "policy/policy.h"

namespace nearfar::policy {
namespace {

/// Counts accesses, and once an interval exchanges the hottest pages of far memory with the
/// coldest of near memory: the i-th hottest with the i-th coldest, while it is the hotter of the
/// two, and at most so many pairs. Then it begins to count anew.
class HotCold final : public Policy {
 public:
  explicit HotCold(const Limits& limits) : limits_(limits), next_(limits.interval) {}

  Tier place(Page page) override {
    const bool near = near_ < limits_.near_pages;
    near_ += near ? 1 : 0;
    pages_.insert_or_assign(page, State{.near = near});
    return near ? Tier::near : Tier::far;
  }

  void accessed(Page page, bool, Tick now, std::vector<Move>& moves) override {
    if (const auto found = pages_.find(page); found != pages_.end()) ++found->second.count;
    if (now < next_) return;
    next_ = now + limits_.interval;
    exchange(moves);
  }

  void removed(Page page) override {
    const auto found = pages_.find(page);
    if (found == pages_.end()) return;
    near_ -= found->second.near ? 1 : 0;
    pages_.erase(found);
  }

 private:
  struct State {
    bool near = false;
    std::uint64_t count = 0;
  };
  struct Ranked {
    std::uint64_t count = 0;
    Page page = 0;
  };

  void exchange(std::vector<Move>& moves) {
    std::vector<Ranked> hot, cold;
    for (const auto& [page, state] : pages_) {
      if (state.near) {
        cold.push_back({state.count, page});
      } else if (state.count != 0) {
        hot.push_back({state.count, page});
      }
    }
    // The whole order is by count and page, so that the table's own order reaches nobody.
    const auto first = [&](std::vector<Ranked>& all, auto before) {
      const auto some = std::min<std::size_t>(all.size(), limits_.pairs);
      std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some), all.end(),
                        before);
      all.resize(some);
    };
    first(hot, [](const Ranked& a, const Ranked& b) {
      return a.count != b.count ? a.count > b.count : a.page < b.page;
    });
    first(cold, [](const Ranked& a, const Ranked& b) {
      return a.count != b.count ? a.count < b.count : a.page < b.page;
    });
    std::size_t colder = 0;
    for (const Ranked& page : hot) {
      Move move{.in = page.page};
      if (near_ < limits_.near_pages) {
        ++near_;
      } else {
        if (colder == cold.size() || cold[colder].count >= page.count) break;
        move.out = cold[colder++].page;
        pages_[move.out].near = false;
      }
      pages_[move.in].near = true;
      moves.push_back(move);
    }
    for (auto& [page, state] : pages_) state.count = 0;
  }

  Limits limits_;
  Tick next_;
  std::uint64_t near_ = 0;
  std::unordered_map<Page, State> pages_;
};

}  // namespace

std::unique_ptr<Policy> make_hot_cold(const Limits& limits) {
  return std::make_unique<HotCold>(limits);
}

}  // namespace nearfar::policy

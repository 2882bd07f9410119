#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "policy/oracle/oracle.h"
#include "policy/registry.h"

namespace nearfar::policy {
namespace {

/// Counts accesses, and once an interval exchanges the hottest pages of far memory with the coldest
/// of near memory: the i-th hottest with the i-th coldest, while it is the hotter of the two, and
/// at most `pairs` of them. Then it counts from 0 again.
class HotColdOracle final : public Oracle {
 public:
  explicit HotColdOracle(const OracleLimits& limits) : limits_(limits), next_(limits.interval) {}

  Tier place(PageIndex page) override {
    const bool near = near_ < limits_.near_pages;
    near_ += near ? 1 : 0;
    pages_.insert_or_assign(page, State{.near = near});
    return near ? Tier::near : Tier::far;
  }

  void accessed(PageIndex page, bool, Tick now, std::vector<Exchange>& exchanges) override {
    if (const auto found = pages_.find(page); found != pages_.end()) ++found->second.count;
    if (now < next_) return;
    next_ = now + limits_.interval;
    exchange(exchanges);
  }

  void released(PageIndex page) override {
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
    PageIndex page = 0;
  };

  void exchange(std::vector<Exchange>& exchanges) {
    std::vector<Ranked> hot, cold;
    for (const auto& [page, state] : pages_) {
      if (state.near) {
        cold.push_back({state.count, page});
      } else if (state.count != 0) {
        hot.push_back({state.count, page});
      }
    }
    // The whole order is by count and page, so that the table's own order does not show.
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
      Exchange exchange{.promote = page.page};
      if (near_ < limits_.near_pages) {
        ++near_;
      } else {
        if (colder == cold.size() || cold[colder].count >= page.count) break;
        exchange.demote = cold[colder++].page;
        pages_[exchange.demote].near = false;
      }
      pages_[exchange.promote].near = true;
      exchanges.push_back(exchange);
    }
    for (auto& [page, state] : pages_) state.count = 0;
  }

  OracleLimits limits_;
  Tick next_;
  std::uint64_t near_ = 0;
  std::unordered_map<PageIndex, State> pages_;
};

}  // namespace

std::unique_ptr<Oracle> make_hot_cold_oracle(const OracleLimits& limits) {
  return std::make_unique<HotColdOracle>(limits);
}

}  // namespace nearfar::policy

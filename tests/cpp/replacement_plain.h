#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "replacement_fixture.h"

namespace nearfar::policy {

/// References written from the descriptions of the policies, with lists that are searched.

class PlainFifo final : public PlainPolicy {
 public:
  void fault(PageIndex page) override { order_.push_back(page); }
  void second_chance(PageIndex page) override { order_.push_back(page); }
  void scanned(const Scan&) override {}
  void released(PageIndex page) override { order_.remove(page); }
  void moved(PageIndex from, PageIndex to) override {
    std::replace(order_.begin(), order_.end(), from, to);
  }
  void readmitted(PageIndex page) override { order_.push_back(page); }
  PageIndex evict() override {
    if (order_.empty()) return no_page;
    const PageIndex page = order_.front();
    order_.pop_front();
    return page;
  }

 private:
  std::list<PageIndex> order_;
};

/// A real circle with a hand, where the policy has a queue.
class PlainClock final : public PlainPolicy {
 public:
  void fault(PageIndex page) override { behind_the_hand({page, false}); }
  void second_chance(PageIndex page) override { behind_the_hand({page, true}); }
  void scanned(const Scan& found) override {
    for (Place& place : circle_) place.used |= place.page == found.page && found.accessed;
  }
  void released(PageIndex page) override {
    for (std::size_t i = 0; i < circle_.size(); ++i) {
      if (circle_[i].page == page) return take(i);
    }
  }
  void moved(PageIndex from, PageIndex to) override {
    for (Place& place : circle_) place.page = place.page == from ? to : place.page;
  }
  void readmitted(PageIndex page) override { behind_the_hand({page, false}); }
  PageIndex evict() override {
    if (circle_.empty()) return no_page;
    for (; circle_[hand_].used; hand_ = (hand_ + 1) % circle_.size()) circle_[hand_].used = false;
    const PageIndex page = circle_[hand_].page;
    take(hand_);
    return page;
  }

 private:
  struct Place {
    PageIndex page;
    bool used;
  };

  void behind_the_hand(Place place) {
    circle_.insert(circle_.begin() + static_cast<std::ptrdiff_t>(hand_), place);
    hand_ = (hand_ + 1) % circle_.size();
  }
  void take(std::size_t at) {
    circle_.erase(circle_.begin() + static_cast<std::ptrdiff_t>(at));
    if (at < hand_) --hand_;
    if (hand_ >= circle_.size()) hand_ = 0;
  }

  std::vector<Place> circle_;
  std::size_t hand_ = 0;
};

/// The last departures from a queue, oldest first; one that has come back leaves a hole.
class PlainGhosts {
 public:
  explicit PlainGhosts(std::size_t places) : places_(places) {}
  void add(PageIndex page) {
    order_.push_back(page);
    if (order_.size() > places_) order_.pop_front();
  }
  bool take(PageIndex page) {
    const auto found = std::find(order_.begin(), order_.end(), page);
    if (found == order_.end()) return false;
    *found = no_page;
    return true;
  }
  void rename(PageIndex from, PageIndex to) {
    take(to);
    std::replace(order_.begin(), order_.end(), from, to);
  }

 private:
  std::size_t places_;
  std::deque<PageIndex> order_;
};

class PlainTwoQ final : public PlainPolicy {
 public:
  explicit PlainTwoQ(PageIndex capacity)
      : most_in_(std::max(1U, capacity / 4)), out_(std::max(1U, capacity / 2)) {}
  void fault(PageIndex page) override { (out_.take(page) ? main_ : in_).push_back(page); }
  void second_chance(PageIndex page) override {
    out_.take(page);
    main_.push_back(page);
  }
  void scanned(const Scan& found) override {
    if (!found.accessed || std::find(main_.begin(), main_.end(), found.page) == main_.end()) return;
    main_.remove(found.page);
    main_.push_back(found.page);
  }
  void released(PageIndex page) override {
    in_.remove(page);
    main_.remove(page);
    out_.take(page);
  }
  void moved(PageIndex from, PageIndex to) override {
    for (auto* queue : {&in_, &main_}) std::replace(queue->begin(), queue->end(), from, to);
    out_.rename(from, to);
  }
  void readmitted(PageIndex page) override {
    out_.take(page);
    main_.push_back(page);
  }
  PageIndex evict() override {
    if (in_.empty() && main_.empty()) return no_page;
    std::list<PageIndex>& from = in_.size() > most_in_ || main_.empty() ? in_ : main_;
    const PageIndex page = from.front();
    from.pop_front();
    if (&from == &in_) out_.add(page);
    return page;
  }

 private:
  std::size_t most_in_;
  std::list<PageIndex> in_, main_;
  PlainGhosts out_;
};

class PlainS3Fifo final : public PlainPolicy {
 public:
  explicit PlainS3Fifo(PageIndex capacity)
      : most_small_(std::max(1U, capacity / 10)), ghosts_(std::max(1U, capacity - capacity / 10)) {}
  void fault(PageIndex page) override { enter(ghosts_.take(page) ? main_ : small_, page); }
  void second_chance(PageIndex page) override {
    readmitted(page);
    uses_[page] = 3;
  }
  void scanned(const Scan& found) override {
    if (found.accessed) uses_[found.page] = std::min(3, uses_[found.page] + 1);
  }
  void released(PageIndex page) override {
    small_.remove(page);
    main_.remove(page);
    ghosts_.take(page);
  }
  void moved(PageIndex from, PageIndex to) override {
    for (auto* queue : {&small_, &main_}) std::replace(queue->begin(), queue->end(), from, to);
    ghosts_.rename(from, to);
    uses_[to] = uses_[from];
  }
  void readmitted(PageIndex page) override {
    ghosts_.take(page);
    enter(main_, page);
  }
  PageIndex evict() override {
    PageIndex page = no_page;
    while (page == no_page && !(small_.empty() && main_.empty())) {
      page = small_.size() >= most_small_ || main_.empty() ? from_small() : from_main();
    }
    return page;
  }

 private:
  void enter(std::list<PageIndex>& queue, PageIndex page) {
    queue.push_back(page);
    uses_[page] = 0;
  }
  /// One step: evicts the oldest, or else moves it on.
  PageIndex from_small() {
    const PageIndex page = small_.front();
    small_.pop_front();
    if (uses_[page] == 0) {
      ghosts_.add(page);
      return page;
    }
    enter(main_, page);
    return no_page;
  }
  PageIndex from_main() {
    const PageIndex page = main_.front();
    main_.pop_front();
    if (uses_[page] == 0) return page;
    --uses_[page];
    main_.push_back(page);
    return no_page;
  }

  std::size_t most_small_;
  std::list<PageIndex> small_, main_;
  std::map<PageIndex, int> uses_;
  PlainGhosts ghosts_;
};

/// Goes through all pages for the one that no scan has seen used for longest.
class PlainLruApprox final : public PlainPolicy {
 public:
  void fault(PageIndex page) override { pages_.push_back({page, 0x80}); }
  void second_chance(PageIndex page) override { fault(page); }
  void scanned(const Scan& found) override {
    const auto at = find(found.page);
    Aged aged = *at;
    aged.age = aged.age / 2 + (found.accessed ? 0x80U : 0U);
    const bool moves = found.accessed || std::bit_width(aged.age) != std::bit_width(at->age);
    *at = aged;
    if (!moves) return;
    pages_.erase(at);
    pages_.push_back(aged);
  }
  void released(PageIndex page) override {
    if (const auto at = find(page); at != pages_.end()) pages_.erase(at);
  }
  void moved(PageIndex from, PageIndex to) override {
    if (const auto at = find(from); at != pages_.end()) at->page = to;
  }
  void readmitted(PageIndex page) override { fault(page); }
  PageIndex evict() override {
    if (pages_.empty()) return no_page;
    const auto oldest = std::min_element(
        pages_.begin(), pages_.end(),
        [](const Aged& a, const Aged& b) { return std::bit_width(a.age) < std::bit_width(b.age); });
    const PageIndex page = oldest->page;
    pages_.erase(oldest);
    return page;
  }

 private:
  struct Aged {
    PageIndex page;
    unsigned age;
  };
  std::vector<Aged>::iterator find(PageIndex page) {
    return std::find_if(pages_.begin(), pages_.end(),
                        [&](const Aged& aged) { return aged.page == page; });
  }

  std::vector<Aged> pages_;
};

/// Levels of use with the time at which each page's place there ends. Time is unbounded, and
/// counted in steps of a sixteenth of a turnover, as the description has it.
class PlainRaminate final : public PlainPolicy {
 public:
  explicit PlainRaminate(PageIndex capacity)
      : step_(std::max(1U, capacity / 16)), lifetime_(std::max(1U, capacity / step_)) {}
  void fault(PageIndex page) override {
    ++faults_;
    for (std::size_t level = 1; level < levels_.size(); ++level) {
      if (levels_[level].empty()) continue;
      const PageIndex oldest = levels_[level].front();
      if (now() < known_[oldest].ends) continue;
      known_[oldest].ends = now() + lifetime_;
      levels_[level].pop_front();
      levels_[level - 1].push_back(oldest);
    }
    const std::uint64_t lifetimes_away = (now() - known_[page].left) / lifetime_;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(lifetimes_away, 8); ++i)
      known_[page].uses /= 2;
    second_chance(page);
  }
  void second_chance(PageIndex page) override {
    Known& known = known_[page];
    known.uses = std::min(255U, known.uses + 1);
    known.ends = now() + lifetime_;
    levels_[std::bit_width(known.uses)].push_back(page);
  }
  void scanned(const Scan& found) override {
    if (!found.accessed) return;
    take(found.page);
    second_chance(found.page);
  }
  void released(PageIndex page) override {
    take(page);
    known_.erase(page);
  }
  void moved(PageIndex from, PageIndex to) override {
    for (auto& level : levels_) std::replace(level.begin(), level.end(), from, to);
    known_[to] = known_[from];
    known_.erase(from);
  }
  void readmitted(PageIndex page) override { second_chance(page); }
  PageIndex evict() override {
    for (auto& level : levels_) {
      if (level.empty()) continue;
      const PageIndex page = level.front();
      level.pop_front();
      known_[page].left = now();
      return page;
    }
    return no_page;
  }

 private:
  struct Known {
    unsigned uses = 0;
    std::uint64_t ends = 0;
    std::uint64_t left = 0;
  };
  [[nodiscard]] std::uint64_t now() const { return faults_ / step_; }
  void take(PageIndex page) {
    for (auto& level : levels_) level.remove(page);
  }

  PageIndex step_;
  PageIndex lifetime_;
  std::uint64_t faults_ = 0;
  std::array<std::list<PageIndex>, 9> levels_;  // victims, then those of 1, 2-3, 4-7, ... uses
  std::map<PageIndex, Known> known_;
};

/// The reference of that policy, if it has one.
inline std::unique_ptr<PlainPolicy> plain_policy(std::string_view name, PageIndex capacity) {
  if (name == "fifo") return std::make_unique<PlainFifo>();
  if (name == "clock") return std::make_unique<PlainClock>();
  if (name == "lru-approx") return std::make_unique<PlainLruApprox>();
  if (name == "2q") return std::make_unique<PlainTwoQ>(capacity);
  if (name == "s3-fifo") return std::make_unique<PlainS3Fifo>(capacity);
  if (name == "raminate") return std::make_unique<PlainRaminate>(capacity);
  return nullptr;
}

}  // namespace nearfar::policy

#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// A policy said as plainly as can be, to compare with: same events, no shortcuts.
class PlainPolicy {
 public:
  PlainPolicy() = default;
  PlainPolicy(const PlainPolicy&) = delete;
  PlainPolicy& operator=(const PlainPolicy&) = delete;
  virtual ~PlainPolicy() = default;
  virtual void fault(PageIndex page) = 0;
  virtual void second_chance(PageIndex page) = 0;
  virtual void scanned(const Scanned& found) = 0;
  virtual void released(PageIndex page) = 0;
  virtual void refused(PageIndex page) = 0;
  virtual PageIndex evict() = 0;
};

/// What a runtime does to a policy, at random: pages fault, are thrown out, come back from limbo
/// or do not, are scanned, pinned and unmapped.
class RandomEvents {
 public:
  RandomEvents(std::uint64_t seed, PageIndex capacity, PageIndex pages)
      : rng_(seed), capacity_(capacity), pages_(pages) {}

  /// One event to the policy, and to `plain` if there is one, which must answer alike.
  void step(Replacement& policy, PlainPolicy* plain) {
    switch (rng_.below(16)) {
      case 0:
        return scan(policy, plain);
      case 1:
        if (rng_.below(4) == 0) release(policy, plain);
        return;
      case 2:
        return evict(policy, plain);
      case 3:
        if (!limbo_.empty()) return touch(policy, plain, limbo_[rng_.below(limbo_.size())]);
        return;
      default:
        // The square of a uniform number: low pages far more often.
        const double at = rng_.uniform();
        return touch(policy, plain, static_cast<PageIndex>(at * at * pages_));
    }
  }

  [[nodiscard]] const std::vector<PageIndex>& resident() const { return resident_; }

 private:
  void touch(Replacement& policy, PlainPolicy* plain, PageIndex page) {
    if (std::find(resident_.begin(), resident_.end(), page) != resident_.end()) return;
    while (resident_.size() >= capacity_) evict(policy, plain);
    const auto waiting = std::find(limbo_.begin(), limbo_.end(), page);
    if (waiting != limbo_.end()) {
      limbo_.erase(waiting);
      policy.second_chance(page);
      if (plain != nullptr) plain->second_chance(page);
    } else {
      policy.fault(page);
      if (plain != nullptr) plain->fault(page);
    }
    resident_.push_back(page);
  }

  void evict(Replacement& policy, PlainPolicy* plain) {
    const PageIndex page = policy.evict();
    if (plain != nullptr) {
      ASSERT_EQ(page, plain->evict());
    }
    const auto at = std::find(resident_.begin(), resident_.end(), page);
    if (resident_.empty()) {
      ASSERT_EQ(page, no_page);
      return;
    }
    ASSERT_NE(at, resident_.end()) << "page " << page << " was not resident";
    ASSERT_FALSE(policy.is_resident(page));
    if (rng_.below(20) == 0) {
      policy.refused(page);
      if (plain != nullptr) plain->refused(page);
      ASSERT_TRUE(policy.is_resident(page));
      return;
    }
    resident_.erase(at);
    limbo_.push_back(page);
    if (limbo_.size() > 3) limbo_.pop_front();
  }

  void scan(Replacement& policy, PlainPolicy* plain) {
    std::vector<Scanned> found;
    for (PageIndex page = 0; page < pages_; ++page) {
      if (rng_.below(3) == 0) continue;
      found.push_back({page, rng_.below(2) == 0, rng_.below(4) == 0});
    }
    policy.scanned(found);
    if (plain == nullptr) return;
    for (const Scanned& each : found) {
      if (std::find(resident_.begin(), resident_.end(), each.page) != resident_.end()) {
        plain->scanned(each);
      }
    }
  }

  void release(Replacement& policy, PlainPolicy* plain) {
    const auto page = static_cast<PageIndex>(rng_.below(pages_));
    policy.released(page);
    if (plain != nullptr) plain->released(page);
    std::erase(resident_, page);
    std::erase(limbo_, page);
  }

  Rng rng_;
  PageIndex capacity_;
  PageIndex pages_;
  std::vector<PageIndex> resident_;
  std::deque<PageIndex> limbo_;
};

}  // namespace nearfar::policy

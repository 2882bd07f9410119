#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/offline/owned.h"

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
  virtual void scanned(const Scan& found) = 0;
  virtual void released(PageIndex page) = 0;
  /// As long as a page keeps its place in every order, it may as well be called otherwise.
  virtual void moved(PageIndex from, PageIndex to) = 0;
  /// It could not leave when it was named, and others have been named since.
  virtual void readmitted(PageIndex page) = 0;
  virtual PageIndex evict() = 0;
};

/// What a runtime does to a policy, at random: pages fault, are thrown out, come back from limbo
/// or do not, are scanned, pinned, moved and unmapped.
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
        if (rng_.below(4) == 0) move(policy, plain);
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
    while (resident_.size() >= capacity_ && !::testing::Test::HasFatalFailure())
      evict(policy, plain);
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
    ASSERT_NO_FATAL_FAILURE(expect_named(page, plain));
    const auto at = std::find(resident_.begin(), resident_.end(), page);
    if (resident_.empty()) {
      ASSERT_EQ(page, no_page);
      return;
    }
    ASSERT_NE(at, resident_.end()) << "page " << page << " was not resident";
    ASSERT_FALSE(policy.is_resident(page));
    if (rng_.below(20) == 0) {
      policy.refused(page);
      left_ = aside_.empty() || left_ == 0 ? 0 : left_ - 1;
      aside_.push_back(page);
      ASSERT_TRUE(policy.is_resident(page));
      return;
    }
    resident_.erase(at);
    limbo_.push_back(page);
    if (limbo_.size() > 3) limbo_.pop_front();
  }

  /// `plain` names that page. What could not leave is kept from it until as many others as are
  /// resident have left, or it has no other.
  void expect_named(PageIndex page, PlainPolicy* plain) {
    if (!aside_.empty() && (++left_ > resident_.size() || aside_.size() == resident_.size())) {
      for (const PageIndex each : aside_) {
        if (plain != nullptr) plain->readmitted(each);
      }
      aside_.clear();
    }
    ASSERT_TRUE(std::find(aside_.begin(), aside_.end(), page) == aside_.end());
    if (plain != nullptr) {
      ASSERT_EQ(page, plain->evict());
    }
  }

  void scan(Replacement& policy, PlainPolicy* plain) {
    std::vector<Scan> found;
    for (PageIndex page = 0; page < pages_; ++page) {
      if (rng_.below(3) == 0) continue;
      found.push_back({page, rng_.below(2) == 0, rng_.below(4) == 0});
    }
    policy.scanned(found);
    if (plain == nullptr) return;
    for (const Scan& each : found) {
      if (std::find(resident_.begin(), resident_.end(), each.page) != resident_.end() &&
          std::find(aside_.begin(), aside_.end(), each.page) == aside_.end()) {
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
    std::erase(aside_, page);
  }

  /// To a page that is neither resident nor in limbo.
  void move(Replacement& policy, PlainPolicy* plain) {
    const auto from = static_cast<PageIndex>(rng_.below(pages_));
    const auto to = static_cast<PageIndex>(rng_.below(pages_));
    if (from == to || std::find(resident_.begin(), resident_.end(), to) != resident_.end() ||
        std::find(limbo_.begin(), limbo_.end(), to) != limbo_.end()) {
      return;
    }
    policy.moved(from, to);
    if (plain != nullptr) plain->moved(from, to);
    std::replace(resident_.begin(), resident_.end(), from, to);
    std::replace(limbo_.begin(), limbo_.end(), from, to);
    std::replace(aside_.begin(), aside_.end(), from, to);
  }

  Rng rng_;
  PageIndex capacity_;
  PageIndex pages_;
  std::vector<PageIndex> resident_;
  std::deque<PageIndex> limbo_;
  std::vector<PageIndex> aside_;  // of the resident pages, those that could not leave
  std::size_t left_ = 0;
};

}  // namespace nearfar::policy

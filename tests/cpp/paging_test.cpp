#include "policy/offline/paging.h"

#include <algorithm>
#include <limits>
#include <list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "policy/offline/bounds.h"

namespace nearfar::policy {
namespace test_file {

Visits visits(const std::vector<std::uint64_t>& pages) {
  Visits all;
  for (const std::uint64_t page : pages) all.access(page, false);
  return all;
}

/// Low pages more often, now and then a run through all of them; a third of the visits write.
Visits mixed(std::uint64_t seed, PageIndex pages, int length) {
  Visits all;
  Rng rng(seed);
  for (int i = 0; i < length; ++i) {
    if (rng.below(100) == 0) {
      for (PageIndex page = 0; page < pages; ++page) all.access(page, rng.below(3) == 0);
    }
    const double at = rng.uniform();
    all.access(static_cast<std::uint64_t>(at * at * pages), rng.below(3) == 0);
  }
  return all;
}

TEST(Visits, VisitsJoinAccessesToOnePageAndRememberThatOneWrote) {
  Visits all;
  all.access(70, false);
  all.access(70, true);
  all.access(5, false);
  all.access(70, false);
  ASSERT_EQ(all.all().size(), 3u);
  EXPECT_EQ(all.all()[0].page(), 0u);
  EXPECT_TRUE(all.all()[0].write());
  EXPECT_EQ(all.all()[1].page(), 1u);
  EXPECT_EQ(all.all()[2].page(), 0u);
  EXPECT_FALSE(all.all()[2].write());
  EXPECT_EQ(all.accesses(), 4u);
  EXPECT_EQ(all.pages(), 2u);
}

TEST(Paging, AProgramThatFitsMissesOnlyAtFirstTouchesAndIsScannedNoMoreAfterThose) {
  for (const auto& [name, make] : replacements()) {
    Visits all = mixed(1, 20, 500);
    const Paging::Options options{.policy = std::string(name), .near = 20, .limbo = 5};
    const std::uint64_t scans = replay(all, options).scans;
    for (int i = 0; i < 1000; ++i) all.access(static_cast<std::uint64_t>(i % 20), false);
    const Paging::Counts counts = replay(all, options);
    EXPECT_EQ(counts.first_touches, 20u) << name;
    EXPECT_EQ(counts.copies_in + counts.copies_out + counts.clean_drops, 0u) << name;
    EXPECT_EQ(counts.second_chances, 0u) << name;
    EXPECT_EQ(counts.scans, scans) << name;
  }
}

TEST(Paging, NoScanTakesTheTouchThatBroughtAPageForAUse) {
  // Where every page has left before it is touched again, the bits tell nothing: a clock is a FIFO.
  for (const PageIndex near : {1u, 4u, 100u}) {
    Visits loop;
    for (std::uint64_t i = 0; i < 20'000; ++i) loop.access(i % (4 * near), false);
    const Paging::Counts counts = replay(loop, {.policy = "clock", .near = near});
    EXPECT_GT(counts.scans, 100u);
    EXPECT_EQ(counts.misses(), loop.visits()) << near;
  }
}

TEST(Paging, LimboIsFilledAgainWhenHalfOfItIsUsedUp) {
  Paging paging({.policy = "fifo", .near = 10, .limbo = 4});
  for (PageIndex page = 0; page <= 11; ++page) paging.visit(page, false);
  // 0 to 3 were chosen for 10; 0 and 1 have been dropped, 2 and 3 are left.
  paging.visit(4, false);
  EXPECT_EQ(paging.counts().second_chances, 0u);
  paging.visit(12, false);  // 4 and 5 join them, and 2 goes
  paging.visit(4, false);
  EXPECT_EQ(paging.counts().second_chances, 1u);
}

TEST(Paging, ATouchInLimboCostsNoCopy) {
  // Three frames, one for limbo: 2 needs a frame, so that 0 goes into limbo and out; then 1 waits.
  Paging paging({.policy = "fifo", .near = 3, .limbo = 2});
  for (const PageIndex page : {0, 1, 2, 3}) paging.visit(page, false);
  // 0 and 1 were chosen, 0 has been dropped, 1 is in limbo.
  paging.visit(1, false);
  EXPECT_EQ(paging.counts().second_chances, 1u);
  EXPECT_EQ(paging.counts().copies_in, 0u);
  paging.visit(0, false);
  EXPECT_EQ(paging.counts().copies_in, 1u);
}

TEST(Paging, OnlyPagesWrittenSinceTheyCameInAreCopiedOut) {
  Paging paging({.policy = "fifo", .near = 1});
  paging.visit(0, true);
  paging.visit(1, false);  // 0 goes out, written
  paging.visit(0, false);  // 1 goes, unwritten
  paging.visit(1, false);  // 0 again: its far copy is still good
  EXPECT_EQ(paging.counts().copies_out, 1u);
  EXPECT_EQ(paging.counts().clean_drops, 2u);
}

TEST(Paging, AReleasedPageLeavesItsFrameAndIsNewWhenTouchedAgain) {
  Paging paging({.policy = "s3-fifo", .near = 2});
  paging.visit(0, true);
  paging.visit(1, true);
  paging.release(0);
  EXPECT_EQ(paging.used(), 1u);
  paging.visit(2, false);
  paging.visit(0, false);
  EXPECT_EQ(paging.counts().first_touches, 4u);
  EXPECT_EQ(paging.counts().copies_in, 0u);
}

TEST(Paging, PagingIsACacheWithFifoAndNoLimbo) {
  const Visits all = mixed(3, 50, 5000);
  std::list<PageIndex> cache;
  std::uint64_t misses = 0;
  for (const Visits::Visit visit : all.all()) {
    if (std::find(cache.begin(), cache.end(), visit.page()) != cache.end()) continue;
    ++misses;
    if (cache.size() == 12) cache.pop_front();
    cache.push_back(visit.page());
  }
  EXPECT_EQ(replay(all, {.policy = "fifo", .near = 12}).misses(), misses);
}

TEST(Paging, PagingLosesNoPageAndNeverUsesMoreFramesThanThereAre) {
  for (const auto& [name, make] : replacements()) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const Visits all = mixed(seed, 60, 2000);
      const auto near = static_cast<PageIndex>(1 + Rng(seed).below(40));
      const auto limbo = static_cast<PageIndex>(Rng(seed + 9).below(near));
      Paging paging({.policy = std::string(name), .near = near, .limbo = limbo});
      Rng rng(seed);
      std::uint64_t released = 0;
      for (const Visits::Visit visit : all.all()) {
        paging.visit(visit.page(), visit.write());
        ASSERT_LE(paging.used(), near) << name;
        if (rng.below(100) == 0) {
          const PageIndex before = paging.used();
          paging.release(static_cast<PageIndex>(rng.below(60)));
          released += before - paging.used();
        }
      }
      const Paging::Counts& counts = paging.counts();
      EXPECT_EQ(counts.misses(), counts.copies_out + counts.clean_drops + released + paging.used())
          << name;
    }
  }
}

/// The fewest misses from `at` on, by trying every choice.
std::uint64_t fewest(const Visits& all, std::size_t at, const std::vector<PageIndex>& near,
                     std::size_t frames) {
  if (at == all.all().size()) return 0;
  const PageIndex page = all.all()[at].page();
  if (all.all()[at].release()) {
    std::vector<PageIndex> left = near;
    std::erase(left, page);
    return fewest(all, at + 1, left, frames);
  }
  if (std::find(near.begin(), near.end(), page) != near.end()) {
    return fewest(all, at + 1, near, frames);
  }
  std::vector<PageIndex> next = near;
  next.push_back(page);
  if (near.size() < frames) return 1 + fewest(all, at + 1, next, frames);
  std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t out = 0; out < near.size(); ++out) {
    next = near;
    next[out] = page;
    best = std::min(best, 1 + fewest(all, at + 1, next, frames));
  }
  return best;
}

TEST(Bounds, BeladyIsTheBestOfAllChoices) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    Visits all;
    for (int i = 0; i < 16; ++i) {
      if (rng.below(8) == 0) all.release(rng.below(6));
      all.access(rng.below(6), false);
    }
    const auto frames = static_cast<PageIndex>(1 + rng.below(3));
    EXPECT_EQ(belady_misses(all, frames), fewest(all, 0, {}, frames)) << seed;
  }
}

/// Belady's choice, searched for among all that is near.
std::uint64_t searched_belady(const Visits& visits, std::size_t near) {
  const auto& all = visits.all();
  std::list<PageIndex> pages;
  std::uint64_t misses = 0;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const PageIndex page = all[at].page();
    const bool is_near = std::find(pages.begin(), pages.end(), page) != pages.end();
    if (all[at].release()) pages.remove(page);
    if (all[at].release() || is_near) continue;
    ++misses;
    if (pages.size() == near) {
      const auto needed = [&](PageIndex one) {
        const auto next = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(at), all.end(),
                                       [&](Visits::Visit visit) { return visit.page() == one; });
        return next == all.end() || next->release() ? all.end() : next;
      };
      pages.erase(std::max_element(pages.begin(), pages.end(), [&](PageIndex one, PageIndex other) {
        return needed(one) < needed(other);
      }));
    }
    pages.push_back(page);
  }
  return misses;
}

TEST(Bounds, BeladysMissesOfManyVisitsAreThoseOfASearch) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Visits drawn = mixed(seed, 60, 1500);
    Visits all;
    Rng rng(seed);
    for (const Visits::Visit visit : drawn.all()) {
      all.access(visit.page(), visit.write());
      if (rng.below(30) == 0) all.release(rng.below(60));
    }
    for (const PageIndex near : {1u, 9u, 40u, 70u})
      EXPECT_EQ(belady_misses(all, near), searched_belady(all, near)) << seed << " " << near;
  }
}

TEST(Bounds, ThereIsNoBoundWithoutNearMemory) {
  EXPECT_THROW((void)belady_misses(visits({1}), 0), InputError);
}

TEST(Bounds, NoPolicyMissesLessThanBelady) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Visits all = mixed(seed, 80, 4000);
    for (const PageIndex near : {1u, 7u, 30u, 79u}) {
      const std::uint64_t bound = belady_misses(all, near);
      for (const auto& [name, make] : replacements()) {
        EXPECT_GE(
            replay(all, {.policy = std::string(name), .near = near, .limbo = near / 4}).misses(),
            bound)
            << name << " " << near;
      }
    }
  }
}

TEST(Bounds, AStaticChoiceMissesAtEveryVisitToAnotherPage) {
  const Visits all = visits({1, 2, 1, 3, 1, 2, 4});
  EXPECT_EQ(static_misses(all, 1), 1u + 4u);
  EXPECT_EQ(static_misses(all, 2), 2u + 2u);
  EXPECT_EQ(static_misses(all, 9), 4u);
}

TEST(Bounds, AStaticChoiceMissesAtTheFirstTouchAfterARelease) {
  Visits all = visits({1, 2, 1, 2, 1});
  all.release(1);
  all.release(7);  // never came
  for (const std::uint64_t page : {1u, 2u, 1u}) all.access(page, false);
  EXPECT_EQ(all.visits(), 8u);
  EXPECT_EQ(static_misses(all, 1), 2u + 3u);
  EXPECT_EQ(static_misses(all, 2), 3u);
}

TEST(Paging, AReplayReleasesPages) {
  Visits all = visits({1, 2});
  all.release(1);
  all.access(1, false);
  all.access(1, false);
  const Paging::Counts counts = replay(all, {.policy = "fifo", .near = 2});
  EXPECT_EQ(counts.first_touches, 3u);
  EXPECT_EQ(counts.copies_in, 0u);
}

TEST(Paging, LimboThatLeavesNoPageResidentIsRefused) {
  EXPECT_THROW(Paging({.policy = "fifo", .near = 4, .limbo = 4}), InputError);
  EXPECT_THROW(Paging({.policy = "lifo", .near = 4}), InputError);
}

}  // namespace test_file
}  // namespace nearfar::policy

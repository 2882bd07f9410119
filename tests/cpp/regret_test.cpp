// What `regret` makes of traces, beside S3-FIFO, and the tables that it learns.

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/offline/paging.h"
#include "policy/replacement/reuse_table.h"
#include "policy/replacement/stay_table.h"

namespace nearfar::policy {
namespace test_file {

TEST(Regret, RegretKeepsPartOfALoopThatDoesNotFit) {
  Visits loop;
  for (std::uint64_t i = 0; i < 200'000; ++i) loop.access(i % 500, false);
  const auto misses = [&](const std::string& policy) {
    return replay(loop, {.policy = policy, .near = 400, .limbo = 16}).misses();
  };
  EXPECT_EQ(misses("fifo"), 200'000u);
  // At best 100 of every 500 visits miss; what does not learn the interval misses all of them.
  EXPECT_LT(misses("regret"), 100'000u);
  EXPECT_LT(misses("regret"), misses("s3-fifo"));
}

TEST(Regret, RegretWithoutScansWatchesPagesWhileTheyAreOut) {
  // Where no page is known to be used while it is resident.
  const auto misses = [](const Visits& all, const std::string& policy) {
    return replay(all, {.policy = policy, .near = 300, .limbo = 18, .scans = false}).misses();
  };
  Visits skewed;
  Rng rng(9);
  for (int i = 0; i < 300'000; ++i) {
    const double at = rng.uniform();
    skewed.access(static_cast<std::uint64_t>(at * at * at * 1000), false);
  }
  // Intervals from fault to fault, which say nothing of the time between, have 0.92 of them.
  EXPECT_LT(100 * misses(skewed, "regret"), 83 * misses(skewed, "s3-fifo"));
  Visits loop;
  for (std::uint64_t i = 0; i < 200'000; ++i) loop.access(i % 500, false);
  EXPECT_LT(100 * misses(loop, "regret"), 85 * misses(loop, "s3-fifo"));
  Visits scanned;
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 1000; ++i) {
      const double at = rng.uniform();
      scanned.access(static_cast<std::uint64_t>(at * at * at * 1000), false);
    }
    for (std::uint64_t i = 0; i < 500; ++i) scanned.access(1000 + round % 2 * 500 + i, false);
  }
  // The same: 0.98.
  EXPECT_LT(100 * misses(scanned, "regret"), 95 * misses(scanned, "s3-fifo"));
}

TEST(Regret, RegretWithoutScansLearnsHowLongItsKnowledgeHolds) {
  // Young pages, each used three times in a row, beside old ones that are used at random.
  Visits all;
  Rng rng(9);
  for (std::uint64_t i = 0; i < 120'000; ++i) {
    all.access(1500 + i / 3 % 400, false);
    const double at = rng.uniform();
    all.access(static_cast<std::uint64_t>(at * at * at * 1500), false);
  }
  const auto misses = [&](const std::string& policy) {
    return replay(all, {.policy = policy, .near = 100, .limbo = 6, .scans = false}).misses();
  };
  // If a young page's rate is taken to hold, 1.12 of them.
  EXPECT_LT(100 * misses("regret"), 102 * misses("s3-fifo"));
}

TEST(Regret, RegretKeepsTheTimesOfPagesBeyondASmallNearMemory) {
  Visits all;
  Rng rng(3);
  for (int i = 0; i < 600'000; ++i) {
    const double at = rng.uniform();
    all.access(static_cast<std::uint64_t>(at * at * at * 80'000), false);
  }
  const auto misses = [&](const std::string& policy) {
    return replay(all, {.policy = policy, .near = 200, .limbo = 12}).misses();
  };
  // If times of last use come round, pages that were left for long seem to be just used: 1.022.
  EXPECT_LT(100 * misses("regret"), 101 * misses("s3-fifo"));
}

TEST(Regret, RegretForgetsAPhaseThatHasEnded) {
  // Pages 0 to 399 for long, then others, of which near memory holds most.
  Visits all;
  Rng rng(5);
  for (int phase = 0; phase < 6; ++phase) {
    for (int i = 0; i < 20'000; ++i) {
      const double at = rng.uniform();
      all.access(static_cast<std::uint64_t>(phase % 3 * 400 + at * at * at * 400), false);
    }
  }
  const auto misses = [&](const std::string& policy) {
    return replay(all, {.policy = policy, .near = 320, .limbo = 20}).misses();
  };
  EXPECT_LT(misses("regret"), misses("s3-fifo"));
  EXPECT_LT(misses("regret"), misses("raminate"));
}

/// Misses of the two policies, each over the same traces.
struct Misses {
  std::uint64_t regret = 0;
  std::uint64_t s3_fifo = 0;
};

/// Of one trace a seed, from 1 on: so many phases of so many visits each, at a page from `first` on
/// that `page` draws; each phase begins anew below `firsts`.
template <typename Page>
Misses in_phases(std::uint64_t seeds, int phases, int visits, std::uint64_t firsts, Page page,
                 PageIndex near, PageIndex limbo) {
  Misses all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Visits trace;
    Rng rng(seed);
    for (int phase = 0; phase < phases; ++phase) {
      const std::uint64_t first = rng.below(firsts);
      for (int i = 0; i < visits; ++i) trace.access(first + page(rng), false);
    }
    all.regret += replay(trace, {.policy = "regret", .near = near, .limbo = limbo}).misses();
    all.s3_fifo += replay(trace, {.policy = "s3-fifo", .near = near, .limbo = limbo}).misses();
  }
  return all;
}

/// Pages scanned for each miss, of draws from so many pages where 100 are near.
double scanned_a_miss(PageIndex pages) {
  Visits all;
  Rng rng(5);
  for (int i = 0; i < 40'000; ++i) all.access(rng.below(pages), false);
  const Paging::Counts counts = replay(all, {.policy = "regret", .near = 100, .limbo = 6});
  return static_cast<double>(counts.pages_scanned) / static_cast<double>(counts.misses());
}

TEST(Regret, RegretIsToldMoreOftenOfPagesThatAreUsedMoreOften) {
  // From one scan to the next each page is visited once in a while, or nearly all are.
  EXPECT_LT(scanned_a_miss(400), 4.0);
  EXPECT_GT(scanned_a_miss(110), 6.0);
}

TEST(Regret, RegretNoticesThatTheRatesOfManyPagesChangeAtOnce) {
  // Zipf-like use of a third of the pages, which overlaps with the last phase's third.
  const auto page = [](Rng& rng) {
    const double at = rng.uniform();
    return static_cast<std::uint64_t>(at * at * at * 400) * 37 % 400;
  };
  const Misses all = in_phases(3, 10, 12'000, 900, page, 250, 15);
  // If pages are judged one by one only, as rarely changing, 0.96 of them are left.
  EXPECT_LT(100 * all.regret, 95 * all.s3_fifo);
}

TEST(Regret, RegretTellsAPhaseThatLivesInLimboFromTheOneBefore) {
  // Each phase has as many pages as near memory, limbo included: what is left of others keeps some
  // of its pages in limbo, from where they come back without a miss.
  const auto page = [](Rng& rng) { return rng.below(1024); };
  const Misses all = in_phases(5, 6, 100'000, 1024, page, 1024, 64);
  // If only misses pass for time, 1.015 of them.
  EXPECT_LT(all.regret, all.s3_fifo);
}

TEST(StayTable, AStayTableHoldsAsFarAsThePromisedUsesHappen) {
  StayTable table;
  EXPECT_EQ(table.holds(3), 1);
  for (int i = 0; i < 1000; ++i) {
    table.used(3);
    table.promised(3, 1);
    table.promised(7, 1);
  }
  EXPECT_EQ(table.holds(3), 1);
  EXPECT_LT(table.holds(7), 0.01F);
  for (int i = 0; i < 1000; ++i) table.fade();  // and is not known any more
  EXPECT_GT(table.holds(7), 0.99F);
}

TEST(ReuseTable, RandomUseLeavesTheGuessAsItIs) {
  ReuseTable table;
  // Of a hundred pages used once in 1000 on average, followed for long.
  for (int round = 0; round < 400; ++round) {
    for (std::size_t age = 0; age < ReuseTable::ages; ++age) {
      table.passed(3, age, 10'000, 1.0F / 1000);
      for (int use = 0; use < 10; ++use) table.used(3, age);
    }
    table.refresh(3);
  }
  for (std::size_t age = 0; age < ReuseTable::ages; ++age) {
    EXPECT_NEAR(table.worth(3, age), 1, 0.05) << age;
  }
}

TEST(ReuseTable, AReuseTableExpectsDuePagesBeforeJustUsedOnes) {
  ReuseTable table;
  // A loop: nothing is used at ages 0 to 7, everything at 8.
  for (int round = 0; round < 100; ++round) {
    for (std::size_t age = 0; age < 8; ++age) table.passed(3, age, 10'000, 1.0F / 400);
    table.passed(3, 8, 1'000, 1.0F / 400);
    for (int use = 0; use < 200; ++use) table.used(3, 8);
    table.refresh(3);
  }
  EXPECT_GT(table.worth(3, 8), 3 * table.worth(3, 0));
  for (std::size_t age = 0; age < 8; ++age) EXPECT_GT(table.worth(3, age + 1), table.worth(3, age));
}

TEST(ReuseTable, APageIsWorthWhatPagesOfItsAgeStillBring) {
  ReuseTable table;
  // As guessed at ages 0 to 7, later never.
  for (int round = 0; round < 400; ++round) {
    for (std::size_t age = 0; age < ReuseTable::ages; ++age) {
      table.passed(3, age, 10'000, 1.0F / 1000);
      for (int use = 0; age < 8 && use < 10; ++use) table.used(3, age);
    }
    table.refresh(3);
  }
  EXPECT_NEAR(table.worth(3, 4), 1, 0.05);
  EXPECT_LT(table.worth(3, 8), 0.05);
}

}  // namespace test_file
}  // namespace nearfar::policy

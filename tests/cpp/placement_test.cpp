#include "policy/placement/placement.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "placement_fixture.h"
#include "policy/offline/owned.h"

namespace nearfar::policy {
namespace test_file {

/// A machine of two tiers that makes some of the exchanges it is asked for, and reports those.
class Machine {
 public:
  Machine(Placement& policy, PageIndex near_pages, PageIndex pages)
      : policy_(policy), near_pages_(near_pages), records_(pages * policy.bytes_per_page()) {
    policy_.keep_in(records_.data());
    for (PageIndex page = 0; page < pages; ++page) {
      tiers_.push_back(policy_.place(page, near_pages_ - near()));
      policy_.placed(page, tiers_.back());
    }
  }
  [[nodiscard]] PageIndex near() const {
    return static_cast<PageIndex>(std::ranges::count(tiers_, Tier::near));
  }
  [[nodiscard]] Tier tier(PageIndex page) const { return tiers_[page]; }

  /// A scan that finds these used, and the decision after it, of at most `pairs`.
  std::vector<Exchange> scan(const std::vector<PageIndex>& used, std::size_t pairs) {
    for (PageIndex page = 0; page < tiers_.size(); ++page) {
      const Scan found{.page = page, .accessed = std::ranges::count(used, page) != 0};
      policy_.scanned({&found, 1});
    }
    std::vector<Exchange> exchanges(pairs);
    exchanges.resize(policy_.decide(exchanges));
    return exchanges;
  }
  void make(const Exchange& exchange) {
    ASSERT_EQ(tiers_[exchange.promote], Tier::far);
    ASSERT_EQ(tiers_[exchange.demote], Tier::near);
    set(exchange.promote, Tier::near);
    set(exchange.demote, Tier::far);
  }

 private:
  void set(PageIndex page, Tier tier) {
    tiers_[page] = tier;
    policy_.placed(page, tier);
  }

  Placement& policy_;
  PageIndex near_pages_;
  std::vector<std::uint8_t> records_;
  std::vector<Tier> tiers_;
};

TEST(Placement, StaticPlacementFillsNearMemoryFirstAndExchangesNothing) {
  OwnedPlacement policy("static", 3);
  Machine machine(*policy, 3, 8);
  EXPECT_EQ(machine.near(), 3u);
  EXPECT_EQ(machine.tier(2), Tier::near);
  EXPECT_EQ(machine.tier(3), Tier::far);
  EXPECT_FALSE(policy->needs_scans());
  EXPECT_TRUE(machine.scan({5, 6, 7}, 4).empty());
}

TEST(Placement, APolicyExchangesUsedPagesForUnusedOnesWithinItsPairs) {
  PromotesUsed policy;
  Machine machine(policy, 2, 6);
  EXPECT_EQ(machine.scan({4, 5}, 1), (std::vector<Exchange>{{.promote = 4, .demote = 0}}));
  EXPECT_EQ(machine.scan({4, 5}, 4),
            (std::vector<Exchange>{{.promote = 4, .demote = 0}, {.promote = 5, .demote = 1}}));
}

TEST(Placement, AnExchangeThatCouldNotBeMadeIsNamedAgain) {
  PromotesUsed policy;
  Machine machine(policy, 2, 6);
  const std::vector<Exchange> wanted = machine.scan({4, 5}, 4);
  machine.make(wanted[1]);
  EXPECT_EQ(machine.scan({4, 5}, 4), (std::vector<Exchange>{{.promote = 4, .demote = 0}}));
}

void expect_sound_exchanges(Placement& policy, PageIndex near, Rng& rng) {
  Machine machine(policy, near, 40);
  for (int i = 0; i < 200; ++i) {
    std::vector<PageIndex> used;
    for (PageIndex page = 0; page < 40; ++page) {
      if (rng.below(4) == 0) used.push_back(page);
    }
    std::set<PageIndex> named;
    for (const Exchange& exchange : machine.scan(used, 1 + rng.below(5))) {
      EXPECT_TRUE(named.insert(exchange.promote).second);
      EXPECT_TRUE(named.insert(exchange.demote).second);
      if (rng.below(3) != 0) machine.make(exchange);
      ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
    ASSERT_EQ(machine.near(), near);
  }
}

TEST(Placement, APolicyNeverNamesAPageTwiceInADecisionNorAPageOfTheWrongTier) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    const auto near = static_cast<PageIndex>(1 + rng.below(10));
    PromotesUsed simple;
    expect_sound_exchanges(simple, near, rng);
    for (const PlacementEntry& entry : placements()) {
      SCOPED_TRACE(entry.name);
      OwnedPlacement policy(entry.name, near);
      expect_sound_exchanges(*policy, near, rng);
    }
  }
}

TEST(Placement, AnUnknownPlacementAndANearMemoryOfNoPagesAreRefused) {
  EXPECT_THROW(OwnedPlacement("statics", 3), InputError);
  EXPECT_THROW(OwnedPlacement("static", 0), InputError);
}

template <typename Entry>
void expect_different_names(std::span<const Entry> family) {
  std::set<std::string_view> names;
  for (const Entry& entry : family) EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
}

TEST(Policies, ANameMeansOnePolicyOfItsFamily) {
  expect_different_names(replacements());
  expect_different_names(placements());
  expect_different_names(oracles());
  for (const ReplacementEntry& entry : replacements()) {
    EXPECT_NO_THROW(OwnedReplacement(entry.name, 10)) << entry.name;
  }
  EXPECT_EQ(replacements()[default_replacement()].name, "s3-fifo");
}

}  // namespace test_file
}  // namespace nearfar::policy

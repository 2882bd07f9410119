#include "policy/policy.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

namespace nearfar::policy {
namespace test_file {

constexpr Tick interval(1'000'000);

std::unique_ptr<Policy> make(const std::string& name, std::uint64_t near_pages = 2,
                             std::uint64_t pairs = 8) {
  return make_policy(name, {.near_pages = near_pages, .interval = interval, .pairs = pairs});
}

std::vector<Move> access(Policy& policy, Page page, Tick now = Tick{}) {
  std::vector<Move> moves;
  policy.accessed(page, false, now, moves);
  return moves;
}

const std::vector<std::string> names = {"static", "fifo", "lru", "hot-cold"};

TEST(Policy, FillsNearMemoryFirst) {
  for (const std::string& name : names) {
    const auto policy = make(name);
    EXPECT_EQ(policy->place(1), Tier::near) << name;
    EXPECT_EQ(policy->place(2), Tier::near) << name;
    EXPECT_EQ(policy->place(3), Tier::far) << name;
    policy->removed(1);
    EXPECT_EQ(policy->place(4), Tier::near) << name;
  }
}

TEST(Policy, StaticMovesNothing) {
  const auto policy = make("static");
  for (Page page = 1; page <= 5; ++page) policy->place(page);
  for (Page page = 1; page <= 5; ++page) EXPECT_TRUE(access(*policy, page).empty());
}

TEST(Policy, FifoSendsOutWhatCameFirstHoweverMuchItIsUsed) {
  const auto policy = make("fifo");
  for (Page page = 1; page <= 3; ++page) policy->place(page);
  EXPECT_TRUE(access(*policy, 1).empty());
  EXPECT_EQ(access(*policy, 3), (std::vector<Move>{{.in = 3, .out = 1}}));
  EXPECT_EQ(access(*policy, 1), (std::vector<Move>{{.in = 1, .out = 2}}));
}

TEST(Policy, LruSendsOutWhatWasUsedLongestAgo) {
  const auto policy = make("lru");
  for (Page page = 1; page <= 3; ++page) policy->place(page);
  EXPECT_TRUE(access(*policy, 1).empty());
  EXPECT_EQ(access(*policy, 3), (std::vector<Move>{{.in = 3, .out = 2}}));
  policy->removed(1);
  EXPECT_EQ(access(*policy, 2), (std::vector<Move>{{.in = 2, .out = Move::nobody}}));
}

TEST(Policy, HotColdExchangesOnceAnIntervalAndOnlyForTheBetter) {
  const auto policy = make("hot-cold", 2, 1);
  for (Page page = 1; page <= 4; ++page) policy->place(page);
  for (int i = 0; i < 5; ++i) access(*policy, 1);
  access(*policy, 2);
  for (int i = 0; i < 3; ++i) access(*policy, 3);
  for (int i = 0; i < 4; ++i) access(*policy, 4);
  // One pair: the hottest far page with the coldest near one.
  EXPECT_EQ(access(*policy, 1, interval), (std::vector<Move>{{.in = 4, .out = 2}}));
  // Counts begin anew: nothing is hot.
  EXPECT_TRUE(access(*policy, 1, interval + interval).empty());
}

/// What the policies are meant to do, said as plainly as can be: no lists, no shortcuts.
struct Reference {
  struct Known {
    bool near = false;
    std::uint64_t came = 0, used = 0, count = 0;
  };
  std::string name;
  std::uint64_t places;
  std::uint64_t pairs;
  std::map<Page, Known> pages;
  std::uint64_t clock = 0;
  Tick next = interval;

  [[nodiscard]] std::uint64_t near() const {
    std::uint64_t sum = 0;
    for (const auto& [page, known] : pages) sum += known.near ? 1 : 0;
    return sum;
  }
  Tier place(Page page) {
    ++clock;
    const bool is_near = near() < places;
    pages[page] = {.near = is_near, .came = clock, .used = clock};
    return is_near ? Tier::near : Tier::far;
  }
  /// The near page of which `key` is least.
  Page least(std::uint64_t Known::* key) {
    Page found = Move::nobody;
    for (const auto& [page, known] : pages) {
      if (known.near && (found == Move::nobody || known.*key < pages[found].*key)) found = page;
    }
    return found;
  }
  std::vector<Move> accessed(Page page, Tick now) {
    ++clock;
    Known& known = pages.at(page);
    ++known.count;
    if (name == "hot-cold") return now < next ? std::vector<Move>{} : exchange(now);
    std::vector<Move> moves;
    if (name != "static" && places != 0 && !known.near) {
      Move move{.in = page};
      if (near() == places) {
        move.out = least(name == "fifo" ? &Known::came : &Known::used);
        pages[move.out].near = false;
      }
      known.near = true;
      known.came = clock;
      moves.push_back(move);
    }
    known.used = clock;
    return moves;
  }
  std::vector<Move> exchange(Tick now) {
    next = now + interval;
    std::vector<Move> moves;
    while (moves.size() < pairs) {
      Page hot = Move::nobody;
      for (const auto& [page, known] : pages) {
        const bool moved = std::any_of(moves.begin(), moves.end(),
                                       [&](const Move& move) { return move.out == page; });
        if (known.near || moved || known.count == 0) continue;
        if (hot == Move::nobody || known.count > pages[hot].count) hot = page;
      }
      if (hot == Move::nobody) break;
      Move move{.in = hot};
      if (near() == places) {
        // One that came in just now is not colder than one that has yet to.
        move.out = least(&Known::count);
        if (move.out == Move::nobody || pages[move.out].count >= pages[hot].count) break;
        pages[move.out].near = false;
      }
      pages[hot].near = true;
      moves.push_back(move);
    }
    for (auto& [page, known] : pages) known.count = 0;
    return moves;
  }
};

TEST(Policy, DoesWhatAPlainReferenceDoesAndNeverFillsNearMemoryBeyondItsPages) {
  for (const std::string& name : names) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rng rng(seed);
      const std::uint64_t places = rng.below(6);
      const std::uint64_t pairs = 1 + rng.below(4);
      const auto policy = make(name, places, pairs);
      Reference reference{.name = name, .places = places, .pairs = pairs, .pages = {}};
      Tick now{};
      for (int i = 0; i < 2000; ++i) {
        now += Tick(rng.below(20'000));
        const Page page = rng.below(20);
        if (!reference.pages.contains(page)) {
          ASSERT_EQ(policy->place(page), reference.place(page)) << name << seed;
        } else if (rng.below(50) == 0) {
          policy->removed(page);
          reference.pages.erase(page);
          continue;
        }
        ASSERT_EQ(access(*policy, page, now), reference.accessed(page, now)) << name << seed;
        ASSERT_LE(reference.near(), places) << name << seed;
      }
    }
  }
}

TEST(Policy, IsRefusedByAnUnknownName) {
  EXPECT_THROW(static_cast<void>(make("lruu")), InputError);
}

}  // namespace test_file
}  // namespace nearfar::policy

#include "policy/oracle/oracle.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "policy/offline/owned.h"

namespace nearfar::policy {
namespace test_file {

constexpr Tick interval(1'000'000);

std::unique_ptr<Oracle> make(const std::string& name, std::uint64_t near_pages = 2,
                             std::uint64_t pairs = 8) {
  return make_oracle(name, {.near_pages = near_pages, .interval = interval, .pairs = pairs});
}

std::vector<Exchange> access(Oracle& oracle, PageIndex page, Tick now = Tick{}) {
  std::vector<Exchange> exchanges;
  oracle.accessed(page, false, now, exchanges);
  return exchanges;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const OracleEntry& entry : oracles()) names.emplace_back(entry.name);
  return names;
}

TEST(Oracle, AnOracleFillsNearMemoryFirst) {
  for (const std::string& name : names()) {
    const auto oracle = make(name);
    EXPECT_EQ(oracle->place(1), Tier::near) << name;
    EXPECT_EQ(oracle->place(2), Tier::near) << name;
    EXPECT_EQ(oracle->place(3), Tier::far) << name;
    oracle->released(1);
    EXPECT_EQ(oracle->place(4), Tier::near) << name;
  }
}

TEST(Oracle, FifoSendsOutTheFirstPageHoweverMuchItIsUsed) {
  const auto oracle = make("fifo");
  for (PageIndex page = 1; page <= 3; ++page) oracle->place(page);
  EXPECT_TRUE(access(*oracle, 1).empty());
  EXPECT_EQ(access(*oracle, 3), (std::vector<Exchange>{{.promote = 3, .demote = 1}}));
  EXPECT_EQ(access(*oracle, 1), (std::vector<Exchange>{{.promote = 1, .demote = 2}}));
}

TEST(Oracle, LruSendsOutTheLeastRecentlyUsedPage) {
  const auto oracle = make("lru");
  for (PageIndex page = 1; page <= 3; ++page) oracle->place(page);
  EXPECT_TRUE(access(*oracle, 1).empty());
  EXPECT_EQ(access(*oracle, 3), (std::vector<Exchange>{{.promote = 3, .demote = 2}}));
  oracle->released(1);
  EXPECT_EQ(access(*oracle, 2), (std::vector<Exchange>{{.promote = 2, .demote = no_page}}));
}

TEST(Oracle, HotColdExchangesOnceAnIntervalAndOnlyForHotterPages) {
  const auto oracle = make("hot-cold", 2, 1);
  for (PageIndex page = 1; page <= 4; ++page) oracle->place(page);
  for (int i = 0; i < 5; ++i) access(*oracle, 1);
  access(*oracle, 2);
  for (int i = 0; i < 3; ++i) access(*oracle, 3);
  for (int i = 0; i < 4; ++i) access(*oracle, 4);
  // One pair: the hottest far page with the coldest near one.
  EXPECT_EQ(access(*oracle, 1, interval), (std::vector<Exchange>{{.promote = 4, .demote = 2}}));
  // Counts begin anew: nothing is hot.
  EXPECT_TRUE(access(*oracle, 1, interval + interval).empty());
}

/// What the oracles are meant to do, said as plainly as can be: no lists, no shortcuts.
struct Reference {
  struct Known {
    bool near = false;
    std::uint64_t came = 0, used = 0, count = 0;
  };
  std::string name;
  std::uint64_t places;
  std::uint64_t pairs;
  std::map<PageIndex, Known> pages;
  std::uint64_t clock = 0;
  Tick next = interval;

  [[nodiscard]] std::uint64_t near() const {
    std::uint64_t sum = 0;
    for (const auto& [page, known] : pages) sum += known.near ? 1 : 0;
    return sum;
  }
  Tier place(PageIndex page) {
    ++clock;
    const bool is_near = near() < places;
    pages[page] = {.near = is_near, .came = clock, .used = clock};
    return is_near ? Tier::near : Tier::far;
  }
  /// The near page of which `key` is least.
  PageIndex least(std::uint64_t Known::* key) {
    PageIndex found = no_page;
    for (const auto& [page, known] : pages) {
      if (known.near && (found == no_page || known.*key < pages[found].*key)) found = page;
    }
    return found;
  }
  std::vector<Exchange> accessed(PageIndex page, Tick now) {
    ++clock;
    Known& known = pages.at(page);
    ++known.count;
    if (name == "oracle:hot-cold") return now < next ? std::vector<Exchange>{} : exchange(now);
    std::vector<Exchange> moves;
    if (places != 0 && !known.near) {
      Exchange move{.promote = page};
      if (near() == places) {
        move.demote = least(name == "oracle:fifo" ? &Known::came : &Known::used);
        pages[move.demote].near = false;
      }
      known.near = true;
      known.came = clock;
      moves.push_back(move);
    }
    known.used = clock;
    return moves;
  }
  std::vector<Exchange> exchange(Tick now) {
    next = now + interval;
    std::vector<Exchange> moves;
    while (moves.size() < pairs) {
      PageIndex hot = no_page;
      for (const auto& [page, known] : pages) {
        const bool moved = std::any_of(moves.begin(), moves.end(),
                                       [&](const Exchange& move) { return move.demote == page; });
        if (known.near || moved || known.count == 0) continue;
        if (hot == no_page || known.count > pages[hot].count) hot = page;
      }
      if (hot == no_page) break;
      Exchange move{.promote = hot};
      if (near() == places) {
        // One that came in just now is not colder than one that has yet to.
        move.demote = least(&Known::count);
        if (move.demote == no_page || pages[move.demote].count >= pages[hot].count) break;
        pages[move.demote].near = false;
      }
      pages[hot].near = true;
      moves.push_back(move);
    }
    for (auto& [page, known] : pages) known.count = 0;
    return moves;
  }
};

TEST(Oracle, AnOracleActsAsAPlainReferenceAndNeverOverfillsNearMemory) {
  for (const std::string& name : names()) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Rng rng(seed);
      const std::uint64_t places = rng.below(6);
      const std::uint64_t pairs = 1 + rng.below(4);
      const auto oracle = make(name, places, pairs);
      Reference reference{.name = name, .places = places, .pairs = pairs, .pages = {}};
      Tick now{};
      for (int i = 0; i < 2000; ++i) {
        now += Tick(rng.below(20'000));
        const PageIndex page = static_cast<PageIndex>(rng.below(20));
        if (!reference.pages.contains(page)) {
          ASSERT_EQ(oracle->place(page), reference.place(page)) << name << seed;
        } else if (rng.below(50) == 0) {
          oracle->released(page);
          reference.pages.erase(page);
          continue;
        }
        ASSERT_EQ(access(*oracle, page, now), reference.accessed(page, now)) << name << seed;
        ASSERT_LE(reference.near(), places) << name << seed;
      }
    }
  }
}

TEST(Oracle, AnOracleOfAnUnknownNameIsRefused) {
  EXPECT_THROW(static_cast<void>(make("lruu")), InputError);
}

}  // namespace test_file
}  // namespace nearfar::policy

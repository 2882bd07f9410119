#include "base/fifo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/rng.h"

namespace nearfar::sim::dram {
namespace test_file {

// The ring begins with 16 places: walks that wander between empty and some dozens cross its end
// at every fill and make it grow at any of them.
TEST(Fifo, AFifoReturnsItsItemsInOrderThroughEveryWrapAndGrowth) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    Fifo<std::uint64_t> fifo;
    std::deque<std::uint64_t> model;
    const std::uint64_t most = 1 + rng.below(70);
    for (std::uint64_t step = 0; step < 2000; ++step) {
      if (model.size() < most && rng.below(2) == 0) {
        fifo.push(step);
        model.push_back(step);
      } else if (!model.empty()) {
        ASSERT_EQ(fifo.front(), model.front()) << "seed " << seed << ", step " << step;
        fifo.pop();
        model.pop_front();
      }
      ASSERT_EQ(fifo.empty(), model.empty()) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Fifo, AFifoShowsItsFirstItemsSideBySideAndDropsAnyNumberOfThem) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    Fifo<std::uint64_t> fifo;
    std::deque<std::uint64_t> model;
    const std::uint64_t most = 1 + rng.below(70);
    for (std::uint64_t step = 0; step < 2000; ++step) {
      if (model.size() < most && rng.below(4) != 0) {
        fifo.push(step);
        model.push_back(step);
        continue;
      }
      const auto first = fifo.first();
      ASSERT_LE(first.size(), model.size());
      ASSERT_EQ(first.empty(), model.empty());
      ASSERT_TRUE(std::equal(first.begin(), first.end(), model.begin())) << "seed " << seed;
      const std::size_t count = rng.below(first.size() + 1);
      fifo.drop(count);
      model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(count));
      ASSERT_EQ(fifo.empty(), model.empty());
      if (!model.empty()) {
        ASSERT_EQ(fifo.front(), model.front()) << "seed " << seed;
      }
    }
  }
}

TEST(Fifo, AFifoInsertsBehindEverythingThatDoesNotComeAfter) {
  struct Item {
    std::uint64_t key = 0;
    std::uint64_t pushed = 0;
  };
  const auto after = [](const Item& a, const Item& b) { return a.key > b.key; };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    Fifo<Item> fifo;
    std::deque<Item> model;
    for (std::uint64_t step = 0; step < 1000; ++step) {
      if (rng.below(100) < 52) {
        const Item item{step + rng.below(8), step};
        fifo.push_in_order(item, after);
        model.insert(std::upper_bound(model.begin(), model.end(), item,
                                      [](const Item& a, const Item& b) { return a.key < b.key; }),
                     item);
      } else if (!model.empty()) {
        ASSERT_EQ(fifo.front().pushed, model.front().pushed) << "seed " << seed;
        fifo.pop();
        model.pop_front();
      }
      ASSERT_EQ(fifo.empty(), model.empty());
    }
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::dram

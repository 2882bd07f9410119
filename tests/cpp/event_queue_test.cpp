#include "base/event_queue.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/slab.h"

namespace nearfar {
namespace {

struct Event {
  Tick time;
  std::uint32_t number;
};

TEST(EventQueue, AnswersNeverWhenEmpty) {
  EventQueue<int> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.next().is_never());
}

TEST(EventQueue, EventsOfOneTimeLeaveInTheOrderTheyCame) {
  EventQueue<std::uint32_t> queue;
  for (std::uint32_t i = 0; i < 1000; ++i) queue.push(Tick(5), i);
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(queue.pop(), i);
}

TEST(EventQueue, AgreesWithAStableSortWhateverIsPushedBetween) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    EventQueue<std::uint32_t> queue;
    std::vector<Event> sorted;  // in the order in which they have to leave
    const std::uint64_t times = 1 + rng.below(40);
    std::uint32_t pushed = 0;
    for (int step = 0; step < 4000; ++step) {
      ASSERT_EQ(queue.size(), sorted.size());
      ASSERT_EQ(queue.next(), sorted.empty() ? Tick::never() : sorted.front().time);
      if (sorted.empty() || rng.below(100) < (step / 1000 % 2 == 0 ? 60u : 40u)) {
        const Event event{Tick(rng.below(times)), pushed++};
        queue.push(event.time, event.number);
        sorted.insert(
            std::upper_bound(sorted.begin(), sorted.end(), event,
                             [](const Event& a, const Event& b) { return a.time < b.time; }),
            event);
      } else {
        ASSERT_EQ(queue.pop(), sorted.front().number) << "seed " << seed << " step " << step;
        sorted.erase(sorted.begin());
      }
    }
  }
}

TEST(Slab, KeepsWhatIsInUseAndTakesNoMemoryForWhatWasGivenBack) {
  Rng rng(7);
  Slab<std::uint64_t> slab;
  std::vector<std::pair<Slab<std::uint64_t>::Index, std::uint64_t>> held;
  Slab<std::uint64_t>::Index highest = 0;
  for (std::uint64_t step = 0; step < 20000; ++step) {
    if (held.size() < 100 && (held.empty() || rng.below(2) == 0)) {
      const auto index = slab.take(step);
      for (const auto& other : held) ASSERT_NE(other.first, index);
      highest = std::max(highest, index);
      held.emplace_back(index, step);
    } else {
      const std::size_t at = rng.below(held.size());
      slab.give_back(held[at].first);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_EQ(slab.in_use(), held.size());
    for (const auto& [index, value] : held) ASSERT_EQ(slab[index], value);
  }
  EXPECT_LT(highest, 100u);
}

TEST(Slab, TakesAnObjectAsItWasGivenBack) {
  Slab<std::string> slab;
  const auto index = slab.take("its memory");
  slab.give_back(index);
  EXPECT_EQ(slab.take_any(), index);
  EXPECT_EQ(slab[index], "its memory");
  EXPECT_NE(slab.take_any(), index);
}

}  // namespace
}  // namespace nearfar

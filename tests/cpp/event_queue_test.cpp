#include "base/event_queue.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/event_lanes.h"
#include "base/rng.h"
#include "base/slab.h"
#include "base/timed_fifo.h"

namespace nearfar {
namespace test_file {

struct Event {
  Tick time;
  std::uint32_t number;
};

TEST(EventQueue, AnEventQueueAnswersNeverWhenEmpty) {
  EventQueue<int> queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.next().is_never());
}

TEST(EventQueue, EventsOfOneTimeLeaveInTheOrderTheyCame) {
  EventQueue<std::uint32_t> queue;
  for (std::uint32_t i = 0; i < 1000; ++i) queue.push(Tick(5), i);
  for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(queue.pop(), i);
}

TEST(EventQueue, AnEventQueueAgreesWithAStableSortWhateverIsPushedBetween) {
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

TEST(EventLanes, EventLanesAgreeWithAnEventQueue) {
  Rng rng(11);
  EventQueue<std::uint32_t> queue;
  EventLanes<std::uint32_t, 3> events;
  std::uint64_t last[3] = {};
  std::uint32_t number = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (queue.empty() || rng.below(2) == 0) {
      const std::size_t lane = rng.below(3);
      last[lane] += rng.below(3);
      queue.push(Tick(last[lane]), number);
      events.push(lane, Tick(last[lane]), number++);
    } else {
      ASSERT_EQ(events.next(), queue.next());
      ASSERT_EQ(events.pop().payload, queue.pop());
    }
  }
}

TEST(TimedFifo, ATimedFifoKnowsWhenItsFirstEventIsDue) {
  TimedFifo<int> events;
  EXPECT_TRUE(events.next().is_never());
  for (int i = 0; i < 40; ++i) events.push(Tick(100 + static_cast<std::uint64_t>(i / 2)), i);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(events.next(), Tick(100 + static_cast<std::uint64_t>(i / 2)));
    EXPECT_EQ(events.front(), i);
    EXPECT_EQ(events.pop(), i);
  }
  EXPECT_TRUE(events.next().is_never());
  events.push(Tick(7), 1);
  EXPECT_EQ(events.next(), Tick(7));
}

TEST(TimedFifo, ATimedFifoKnowsTheNextEventOnceItsFirstEventsAreDropped) {
  TimedFifo<int> events;
  for (int i = 0; i < 10; ++i) events.push(Tick(100 + static_cast<std::uint64_t>(i)), i);
  ASSERT_EQ(events.first().size(), 10u);
  EXPECT_EQ(events.first()[3].time, Tick(103));
  EXPECT_EQ(events.first()[3].payload, 3);
  events.drop(3);
  EXPECT_EQ(events.next(), Tick(103));
  events.drop(7);
  EXPECT_TRUE(events.next().is_never());
}

TEST(EventLanes, EventLanesKeepTheEventsOfALaneThatSleeps) {
  EventLanes<int, 2> events;
  events.sleep(1);
  events.push(1, Tick(10), 1);
  events.push(1, Tick(20), 2);
  events.push(1, Tick(30), 3);
  events.push(0, Tick(25), 4);
  EXPECT_EQ(events.next(), Tick(25));
  EXPECT_EQ(events.take(1, Tick(15)), 1u);
  events.wake(1);
  EXPECT_EQ(events.pop().payload, 2);
  EXPECT_EQ(events.pop().payload, 4);
  events.sleep(1);
  EXPECT_TRUE(events.next().is_never());
}

TEST(Slab, ASlabKeepsObjectsInUseAndReusesThoseThatWereReturned) {
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

TEST(Slab, ASlabHandsOutAnObjectAsItWasReturned) {
  Slab<std::string> slab;
  const auto index = slab.take("its memory");
  slab.give_back(index);
  EXPECT_EQ(slab.take_any(), index);
  EXPECT_EQ(slab[index], "its memory");
  EXPECT_NE(slab.take_any(), index);
}

}  // namespace test_file
}  // namespace nearfar

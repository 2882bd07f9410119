#include "sim/imc/ddrt_channel.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "machine_bench.h"

namespace nearfar::sim::testing {
namespace test_file {

using Ports = std::vector<std::uint64_t>;

/// One place for reads and one for writes, both taken by port 0, which waits for another; and
/// so do ports 1, 2 and 3, in this order. Requests of `write` go to pages of their own.
struct Crowd {
  explicit Crowd(bool writes)
      : write(writes),
        bench({{"imc.rpq.lines", "1"}, {"imc.wpq.lines", "1"}, {"nvdimm.lsq.lines", "1"}}) {
    while (offer(0)) bench.step(bench.now());
    for (const std::uint16_t port : std::to_array<std::uint16_t>({1, 2, 3, 2, 1})) {
      if (offer(port)) throw std::logic_error("the queue has room");
    }
  }
  bool offer(std::uint16_t port) {
    ++id;
    return bench.send(write ? write_of(id, id * 4096, id, port) : read_of(id, id * 4096, port));
  }

  bool write;
  Bench bench;
  std::uint64_t id = 100;
};

TEST(PendingQueues, PendingQueuesTakeAsManyRequestsAsTheyHavePlaces) {
  Bench bench(Overrides{{"imc.rpq.lines", "5"}, {"imc.wpq.lines", "3"}, {"nvdimm.lsq.lines", "1"}});
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_TRUE(bench.send(read_of(i, i * 4096)));
  EXPECT_FALSE(bench.send(read_of(5, 5 * 4096)));
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(bench.send(write_of(10 + i, 1 << 20, 1)));
  EXPECT_FALSE(bench.send(write_of(13, 1 << 20, 1))) << "the queues are apart";
}

TEST(PendingQueues, PendingQueuesAnswerAReadFromTheYoungestWaitingWrite) {
  Bench bench(Overrides{{"nvdimm.lsq.lines", "1"}});
  ASSERT_TRUE(bench.send(write_of(1, 0, 100)));
  ASSERT_TRUE(bench.send(write_of(2, 0, 200)));
  ASSERT_TRUE(bench.send(write_of(3, 64, 300)));
  ASSERT_TRUE(bench.send(read_of(4, 0)));
  const Completion done = bench.wait_for(4);
  EXPECT_EQ(done.data, 200u);
  EXPECT_EQ(done.time, Tick(3000)) << "one line's time";
}

TEST(PendingQueues, PendingQueuesWakeRefusedPortsInTheOrderTheyCame) {
  for (const bool write : {false, true}) {
    Crowd crowd(write);
    for (std::size_t turn = 1; turn <= 4; ++turn) {
      ASSERT_TRUE(crowd.bench.wait_for_wakes(turn));
      const auto port = static_cast<std::uint16_t>(crowd.bench.woken().back());
      EXPECT_FALSE(crowd.offer(8)) << "a newcomer overtakes the one whose turn it is";
      EXPECT_TRUE(crowd.offer(port));
    }
    EXPECT_EQ(crowd.bench.woken(), (Ports{0, 1, 2, 3}));
  }
}

TEST(PendingQueues, PendingQueuesPassAPlaceOnWhenAWokenPortDoesNotTakeIt) {
  for (const bool write : {false, true}) {
    Crowd crowd(write);
    ASSERT_TRUE(crowd.bench.wait_for_wakes(1));
    const Tick freed = crowd.bench.now();
    ASSERT_TRUE(crowd.bench.wait_for_wakes(3)) << "no port is woken any more";
    EXPECT_EQ(crowd.bench.woken(), (Ports{0, 1, 2}));
    EXPECT_EQ(crowd.bench.now(), freed + Tick(2)) << "an instant for each";
    ASSERT_TRUE(crowd.offer(2));
    ASSERT_TRUE(crowd.bench.wait_for_wakes(4)) << "port 3 waits for ever";
    EXPECT_EQ(crowd.bench.woken().back(), 3u);
    EXPECT_GT(crowd.bench.now(), freed + Tick(3)) << "the place is taken";
  }
}

TEST(PendingQueues, PendingQueuesAreOpenToAllWhenNoneOfTheWokenPortsCame) {
  for (const bool write : {false, true}) {
    Crowd crowd(write);
    ASSERT_TRUE(crowd.bench.wait_for_wakes(4));
    crowd.bench.advance(crowd.bench.now() + Tick(1));
    EXPECT_TRUE(crowd.offer(8));
  }
}

TEST(PendingQueues, PendingQueuesWakePortsThatWereRefusedAHeldPlaceLeftUntaken) {
  Bench bench(Overrides{{"imc.rpq.lines", "1"}});
  ASSERT_TRUE(bench.send(read_of(1, 0, 1)));
  ASSERT_FALSE(bench.send(read_of(2, 4096, 2)));
  ASSERT_TRUE(bench.wait_for_wakes(1));
  const Tick freed = bench.now();
  ASSERT_FALSE(bench.send(read_of(3, 8192, 3))) << "held for port 2, which does not come";
  EXPECT_TRUE(bench.machine().idle()) << "nothing that was accepted is unfinished";
  ASSERT_TRUE(bench.wait_for_wakes(2)) << "port 3 waits for ever";
  EXPECT_EQ(bench.woken(), (Ports{2, 3}));
  EXPECT_EQ(bench.now(), freed + Tick(1));
  EXPECT_TRUE(bench.send(read_of(3, 8192, 3)));
}

TEST(PendingQueues, PendingQueuesServeGreedyPortsInTurn) {
  // Eight ports each want the next place as soon as they have one.
  for (const bool write : {false, true}) {
    Bench bench({{"imc.rpq.lines", "3"}, {"imc.wpq.lines", "3"}, {"nvdimm.lsq.lines", "8"}});
    std::array<std::uint64_t, 8> served{};
    std::uint64_t id = 0;
    const auto offer_all = [&](std::uint16_t port) {
      while (true) {
        ++id;
        const std::uint64_t at = id * 4096 % (1 << 29);
        if (!bench.send(write ? write_of(id, at, id, port) : read_of(id, at, port))) return;
        ++served[port];
      }
    };
    for (std::uint16_t port = 0; port < 8; ++port) offer_all(port);
    for (std::size_t wakes = 0; wakes < 4000;) {
      ASSERT_FALSE(bench.step().empty());
      for (; wakes < bench.woken().size(); ++wakes) {
        offer_all(static_cast<std::uint16_t>(bench.woken()[wakes]));
      }
      const auto [least, most] = std::minmax_element(served.begin(), served.end());
      ASSERT_LE(*most - *least, 4u) << "3 places at the start, then turn by turn";
    }
  }
}

TEST(Bus, TheBusNeedsNoTurnBeforeItsFirstUse) {
  Bench bench;
  ASSERT_TRUE(bench.send(write_of(1, 0, 100)));
  bench.step();
  EXPECT_EQ(bench.machine().next_event(), Tick(3000)) << "the line arrives after a line's time";
}

/// When a read that finds its block in the RMW buffer is done, after its acceptance, if
/// `writes` are sent 1 ns before its data are ready.
Tick hit_behind(std::uint64_t writes) {
  Bench bench;
  EXPECT_TRUE(bench.send(read_of(1, 0)));
  bench.wait_for(1);
  const Tick start(1'000'000);
  bench.advance(start);
  EXPECT_TRUE(bench.send(read_of(2, 0)));
  bench.advance(start + Tick(49'000));
  for (std::uint64_t i = 0; i < writes; ++i) EXPECT_TRUE(bench.send(write_of(10 + i, 1 << 20, i)));
  return bench.wait_for(2).time - start;
}

TEST(Bus, TheBusTurnsBetweenDirections) {
  // Request 10 ns, two look-ups 10 and 30: ready at 50; grant 20, line 3.
  EXPECT_EQ(hit_behind(0), Tick(73'000));
  EXPECT_EQ(hit_behind(5), Tick(73'000)) << "lines until 64 ns, turned at 70";
  EXPECT_EQ(hit_behind(6), Tick(76'000)) << "lines until 67 ns, turned at 73";
  EXPECT_EQ(hit_behind(8), Tick(82'000));
}

TEST(Bus, TheBusCarriesOneLineAtATimeAndNeedsNoTurnWithinADirection) {
  Bench bench;
  for (std::uint64_t page = 0; page < 4; ++page) {
    ASSERT_TRUE(bench.send(read_of(page, page * 4096)));
    bench.wait_for(page);
  }
  const Tick start(10'000'000);
  bench.advance(start);
  for (std::uint64_t page = 0; page < 4; ++page) {
    ASSERT_TRUE(bench.send(read_of(10 + page, page * 4096)));
  }
  for (std::uint64_t page = 0; page < 4; ++page) {
    EXPECT_EQ(bench.wait_for(10 + page).time, start + Tick(73'000 + page * 3000));
  }
}

TEST(Completions, CompletionsCarryTheCallersAddressWhateverTheChannel) {
  Bench bench(Overrides{{"channels", "6"}});
  for (std::uint64_t i = 0; i < 60; ++i) {
    const std::uint64_t address = i * 4096 + 8 * i;  // and not that of the line
    ASSERT_TRUE(bench.send(i % 2 == 0 ? read_of(i, address) : write_of(i, address, i)));
    EXPECT_EQ(bench.wait_for(i).address, Address(address));
  }
}

TEST(Machine, AMachineRefusesAnAddressBeyondItsMemory) {
  Machine machine(quiet_optane({{"channels", "2"}}));
  EXPECT_EQ(machine.capacity(), Bytes{2} << 30);
  EXPECT_TRUE(machine.try_send(read_of(1, (Bytes{2} << 30) - 64), Tick(0)).accepted);
  const Request beyond = read_of(2, Bytes{2} << 30);
  EXPECT_THROW(static_cast<void>(machine.try_send(beyond, Tick(0))), InputError);
}

TEST(Machine, AMachineHasNothingToDoWhenIdleAndIsIdleAgainAfterwards) {
  Machine machine(quiet_optane());
  EXPECT_TRUE(machine.idle());
  EXPECT_TRUE(machine.next_event().is_never());
  Request write = write_of(1, 0, 5);
  write.tell_media = true;
  ASSERT_TRUE(machine.try_send(write, Tick(7)).accepted);
  Sink sink;
  while (!machine.next_event().is_never()) {
    const bool told = std::any_of(sink.begin(), sink.end(), [](const Completion& completion) {
      return completion.kind == Completion::Kind::media;
    });
    EXPECT_EQ(machine.idle(), told) << "at " << machine.next_event().ps();
    machine.advance(machine.next_event(), sink);
  }
  EXPECT_EQ(sink.size(), 2u);
  EXPECT_TRUE(machine.idle());
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

#include "sim/link/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "mock_device.h"

namespace nearfar::sim::link {
namespace test_file {

using namespace literals;

Config quick_link() {
  Config config;
  config.request_latency = 60_ns;
  config.response_latency = 40_ns;
  config.slot = 1_ns;
  config.read_request_slots = 1;
  config.read_response_slots = 5;
  config.write_request_slots = 5;
  config.write_response_slots = 1;
  config.read_credits = 64;
  config.write_credits = 64;
  return config;
}

Request request(std::uint64_t id, Op op, std::uint64_t line, std::uint16_t port = 0) {
  return {.id = id, .address = Address(line * line_bytes), .op = op, .port = port};
}

/// A link in front of a mock; `memory` stays readable.
struct Bench {
  explicit Bench(const Config& config, const MockDevice::Config& mock = {}) {
    auto device = std::make_unique<MockDevice>(mock);
    memory = device.get();
    link = std::make_unique<Link>(config, std::move(device));
  }
  Completion only(const Request& request, Tick now) {
    EXPECT_TRUE(link->try_send(request, now).accepted);
    Sink sink;
    link->advance(Tick::never(), sink);
    EXPECT_EQ(sink.size(), 1u);
    return sink.front();
  }
  MockDevice* memory = nullptr;
  std::unique_ptr<Link> link;
};

TEST(Link, AnIdleReadTakesBothLatenciesItsSlotsAndTheMemory) {
  Bench bench(quick_link(), {.latency = 100_ns});
  const Completion done = bench.only(request(7, Op::read, 3), 10_ns);
  EXPECT_EQ(done.time, 10_ns + 1_ns + 60_ns + 100_ns + 5_ns + 40_ns);
  EXPECT_EQ(done.id, 7u);
  EXPECT_EQ(done.address, Address(3 * line_bytes));
}

TEST(Link, AnIdleWriteCarriesItsDataOutAndAnAcknowledgementBack) {
  Bench bench(quick_link(), {.latency = 100_ns});
  EXPECT_EQ(bench.only(request(1, Op::write, 0), Tick(0)).time,
            5_ns + 60_ns + 100_ns + 1_ns + 40_ns);
}

TEST(Link, AWriteToAnotherSocketFirstAsksForOwnership) {
  Config config = quick_link();
  config.write_round_trips = 1;
  Bench bench(config, {.latency = 100_ns});
  EXPECT_EQ(bench.only(request(1, Op::write, 0), Tick(0)).time,
            6_ns + 60_ns + 40_ns + 60_ns + 100_ns + 1_ns + 40_ns);
  EXPECT_EQ(bench.only(request(2, Op::read, 0), 1_us).time,
            1_us + 1_ns + 60_ns + 100_ns + 5_ns + 40_ns)
      << "reads need not";
}

/// Keeps `outstanding` requests in flight from as many ports; the time of the last answer.
Tick closed_loop(Bench& bench, std::uint32_t outstanding, std::uint64_t count, int writes_percent) {
  Rng rng(5);
  Sink sink;
  Tick now{};
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  std::vector<std::uint64_t> ready;  // ports that may send
  std::map<std::uint16_t, Request> refused;
  for (std::uint32_t port = 0; port < outstanding; ++port) ready.push_back(port);
  while (done < count) {
    for (const std::uint64_t port : ready) {
      const auto at = refused.find(static_cast<std::uint16_t>(port));
      if (at == refused.end() && sent == count) continue;
      const Op op = static_cast<int>(rng.below(100)) < writes_percent ? Op::write : Op::read;
      const Request next = at != refused.end()
                               ? at->second
                               : request(port, op, sent++, static_cast<std::uint16_t>(port));
      if (bench.link->try_send(next, now).accepted) {
        refused.erase(next.port);
      } else {
        refused[next.port] = next;
      }
    }
    ready.clear();
    sink.clear();
    now = bench.link->next_event();
    bench.link->advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::done) ++done;
      ready.push_back(completion.id);
    }
  }
  return now;
}

TEST(Link, ReadsSaturateTheResponseDirection) {
  Bench bench(quick_link(), {.latency = 100_ns});
  const std::uint64_t count = 20'000;
  const double ns = closed_loop(bench, 60, count, 0).ns();
  EXPECT_NEAR(ns / static_cast<double>(count), 5.0, 0.05) << "five slots of 1 ns a line";
}

TEST(Link, WritesSaturateTheRequestDirection) {
  Bench bench(quick_link(), {.latency = 100_ns});
  const std::uint64_t count = 20'000;
  EXPECT_NEAR(closed_loop(bench, 60, count, 100).ns() / static_cast<double>(count), 5.0, 0.05);
}

TEST(Link, ReadsAndWritesTogetherMoveMoreThanEitherAlone) {
  // Half of each: 6 slots a pair in either direction, where either kind alone needs 10.
  Bench bench(quick_link(), {.latency = 100_ns});
  const std::uint64_t count = 40'000;
  EXPECT_NEAR(closed_loop(bench, 120, count, 50).ns() / static_cast<double>(count), 3.0, 0.15);
}

TEST(Link, FewOutstandingReadsObeyLittlesLaw) {
  Bench bench(quick_link(), {.latency = 100_ns});
  const std::uint64_t count = 8'000;
  const double ns = closed_loop(bench, 8, count, 0).ns();
  EXPECT_NEAR(8 * ns / static_cast<double>(count), 206.0, 0.5) << "8 in flight, 206 ns each";
}

TEST(Link, CreditsBoundWhatTheDevicesPortHolds) {
  Config config = quick_link();
  config.read_credits = 4;
  // The memory takes one at a time: a credit is out from the send until a taken request's
  // word of it has come back.
  Bench bench(config, {.latency = 100_ns, .slots = 1});
  const std::uint64_t count = 2'000;
  const double ns = closed_loop(bench, 16, count, 0).ns();
  EXPECT_NEAR(ns / static_cast<double>(count), 100.0, 1.0) << "the memory is the bottleneck";
  Config starved = config;
  starved.read_credits = 1;
  Bench slow(starved, {.latency = 10_ns, .slots = 64});
  const double alone = closed_loop(slow, 16, count, 0).ns();
  EXPECT_NEAR(alone / static_cast<double>(count), 101.0, 1.0)
      << "one credit: a slot out, the way there, the way of the credit back";
}

TEST(Link, RefusedPortsAreWokenInOrderAndOneThatStaysAwayStopsNoOther) {
  Config config = quick_link();
  config.read_credits = 1;
  Bench bench(config);
  ASSERT_TRUE(bench.link->try_send(request(0, Op::read, 0, 0), Tick(0)).accepted);
  for (std::uint16_t port = 1; port <= 3; ++port) {
    ASSERT_FALSE(bench.link->try_send(request(port, Op::read, port, port), Tick(0)).accepted);
  }
  std::vector<std::uint64_t> woken;
  Sink sink;
  while (woken.size() < 3 && !bench.link->next_event().is_never()) {
    const Tick now = bench.link->next_event();
    sink.clear();
    bench.link->advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) woken.push_back(completion.id);
    }
  }
  EXPECT_EQ(woken, (std::vector<std::uint64_t>{1, 2, 3})) << "1 and 2 never came";
}

TEST(Link, NoticesFromTheMediaComeWithTheCallersIdEvenAfterTheAnswer) {
  Bench bench(quick_link(), {.latency = 10_ns, .media_latency = 5_us});
  Request write = request(11, Op::write, 9);
  write.tell_media = true;
  ASSERT_TRUE(bench.link->try_send(write, Tick(0)).accepted);
  ASSERT_TRUE(bench.link->try_send(request(12, Op::read, 9), 1_us).accepted);
  Sink sink;
  bench.link->advance(Tick::never(), sink);
  ASSERT_EQ(sink.size(), 3u);
  EXPECT_EQ(sink[2].kind, Completion::Kind::media);
  EXPECT_EQ(sink[2].id, 11u);
  EXPECT_EQ(sink[2].address, write.address);
  EXPECT_TRUE(bench.link->idle());
}

TEST(Link, AnySplitOfAdvanceGivesTheSameCompletions) {
  const auto play = [](std::uint64_t split_seed) {
    Config config = quick_link();
    config.read_credits = 5;
    config.write_credits = 3;
    Bench bench(config, {.latency = 37_ns, .slots = 4});
    Rng rng(17);
    Rng split(split_seed);
    Sink sink;
    Tick now{};
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < 3'000; ++i) {
      const Tick next = now + Tick(rng.below(40'000));
      while (split_seed != 0 && now < next) {
        now += Tick(1 + split.below((next - now).ps()));
        bench.link->advance(now, sink);
      }
      now = next;
      bench.link->advance(now, sink);
      const Op op = rng.below(3) == 0 ? Op::write : Op::read;
      if (!bench.link->try_send(request(i, op, rng.below(99), 1), now).accepted) ++refused;
    }
    bench.link->advance(Tick::never(), sink);
    EXPECT_GT(refused, 0u);
    std::vector<std::uint64_t> seen;
    for (const Completion& completion : sink) {
      seen.insert(seen.end(), {completion.time.ps(), completion.id,
                               static_cast<std::uint64_t>(completion.kind)});
    }
    return seen;
  };
  const auto whole = play(0);
  EXPECT_EQ(whole, play(1));
  EXPECT_EQ(whole, play(2));
}

}  // namespace test_file
}  // namespace nearfar::sim::link

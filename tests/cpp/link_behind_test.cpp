#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "effort.h"
#include "machine_fixture.h"
#include "mock_device.h"
#include "sim/link/link.h"

namespace nearfar::sim::link {
namespace test_file {

using namespace testing;
using namespace literals;

Settings dram_machine() {
  Settings settings = optane().moved("nvdimm.dram.", "dram.");
  settings.set("machine", "dram");
  settings.set("channels", "2");
  settings.set("imc.interleave", "256");
  return settings;
}

/// One to three channels, whose read queues refuse all, some or none of what comes.
Settings random_dram_machine(std::uint64_t seed) {
  Rng rng(seed);
  Settings settings = dram_machine();
  settings.set("channels", std::to_string(1 + rng.below(3)));
  settings.set("dram.queue.read", std::to_string(std::uint64_t{1} << rng.below(7)));
  return settings;
}

Config random_link(std::uint64_t seed) {
  Rng rng(seed);
  Config config;
  config.request_latency = Tick(rng.below(200'000));
  config.response_latency = Tick(rng.below(4) == 0 ? rng.below(3) : rng.below(200'000));
  config.slot = Tick(rng.below(4) == 0 ? 0 : rng.below(2'000));
  config.read_request_slots = 1;
  config.read_response_slots = 5;
  config.write_request_slots = 5;
  config.write_response_slots = 1;
  config.read_credits = static_cast<std::uint32_t>(rng.below(2) == 0 ? 128 : 1 + rng.below(6));
  config.write_credits = static_cast<std::uint32_t>(rng.below(2) == 0 ? 128 : 1 + rng.below(6));
  config.write_round_trips = static_cast<std::uint32_t>(rng.below(2));
  return config;
}

Config long_link() {
  Config config = random_link(1);
  config.request_latency = config.response_latency = 100_ns;
  config.slot = 1_ns;
  config.read_credits = config.write_credits = 128;
  return config;
}

/// What is told, when, and what is counted in the end, a line each.
std::string told(const Settings& memory, std::uint64_t seed, bool observed, bool to_completion) {
  Link link(random_link(seed), std::make_unique<Machine>(memory), observed);
  StreamShape shape = shape_of(seed);
  shape.count = 800;
  std::vector<Arrival> arrivals = random_stream(Bytes{1} << 20, shape, seed);
  if (seed % 3 != 0) {
    for (Arrival& arrival : arrivals) arrival.request.tell_media = false;
  }
  Driving driving;
  driving.to_completion = to_completion;
  driving.fence_every = seed % 2 * 7;
  const Outcome outcome = drive(link, arrivals, driving);
  std::string lines;
  for (const Completion& completion : outcome.completions) lines += text(completion) + '\n';
  for (const Tick time : outcome.accepted) lines += std::to_string(time.ps()) + '\n';
  for (const auto& [name, value] : outcome.counters) {
    lines += name + ' ' + std::to_string(value) + '\n';
  }
  return lines;
}

TEST(LinkBehind, AMemoryThatFallsBehindGivesTheSameAsOneThatDoesNot) {
  for (std::uint64_t seed = 1; seed <= sim::testing::cases(24); ++seed) {
    for (const Settings& memory : {random_dram_machine(seed), random_optane(seed)}) {
      const std::string at_once = told(memory, seed, true, true);
      EXPECT_EQ(at_once, told(memory, seed, false, true)) << "seed " << seed;
      EXPECT_EQ(at_once, told(memory, seed, false, false)) << "seed " << seed;
    }
  }
}

TEST(LinkBehind, DramTakesRequestsTogetherAsItTakesThemOneByOne) {
  std::uint64_t refusals = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Machine together(random_dram_machine(seed));
    Machine one_by_one(random_dram_machine(seed));
    StreamShape shape = shape_of(seed);
    shape.count = 1 + seed * 5;
    const std::vector<Arrival> stream = random_stream(Bytes{1} << 20, shape, seed);
    std::vector<Timed<Request>> arrivals;
    for (const Arrival& arrival : stream) arrivals.push_back({arrival.time, arrival.request});

    const std::size_t taken = together.try_send_all(arrivals);
    std::size_t expected = 0;
    for (const Arrival& arrival : stream) {
      Request request = arrival.request;
      request.port = port_of(one_by_one.queue_of(request.address), request.op);
      if (!one_by_one.try_send(request, arrival.time).accepted) {
        ++refusals;
        ASSERT_LT(taken, arrivals.size()) << "seed " << seed;
        EXPECT_EQ(arrivals[taken].payload.address, request.address) << "as it was";
        EXPECT_EQ(arrivals[taken].payload.port, request.port);
        break;
      }
      ++expected;
    }
    EXPECT_EQ(taken, expected) << "seed " << seed;

    Sink sink;
    Sink sink_of_one_by_one;
    const Tick end = stream.back().time + settling;
    together.advance(end, sink);
    one_by_one.advance(end, sink_of_one_by_one);
    EXPECT_EQ(difference({sink.begin(), sink.end()},
                         {sink_of_one_by_one.begin(), sink_of_one_by_one.end()}),
              "")
        << "seed " << seed;
    EXPECT_EQ(counters_of(together), counters_of(one_by_one)) << "seed " << seed;
  }
  EXPECT_GT(refusals, 5u);
}

TEST(LinkBehind, AStreamIsPlayedInBatches) {
  const auto advances = [&](bool observed) {
    auto device = std::make_unique<MockDevice>(MockDevice::Config{.latency = 20_ns});
    const MockDevice& memory = *device;
    Link link(long_link(), std::move(device), observed);
    Sink sink;
    Tick now;
    for (std::uint64_t sent = 0, done = 0; done < 1000; done += sink.size()) {
      for (; sent < done + 32 && sent < 1000; ++sent) {
        EXPECT_TRUE(
            link.try_send({.id = sent, .address = Address(sent * line_bytes)}, now).accepted);
      }
      sink.clear();
      now = link.advance_to_completion(Tick::never(), sink);
    }
    EXPECT_FALSE(memory.time_went_back());
    return memory.advances();
  };
  EXPECT_EQ(advances(true), 1000u);
  EXPECT_LT(advances(false), 1000u) << "those of one instant or a few instants at a time";
}

TEST(LinkBehind, TheCountsOfTheMemoryAreRightWhenItIsSettled) {
  const auto counted = [](bool observed) {
    Link link(long_link(), std::make_unique<Machine>(dram_machine()), observed);
    Sink sink;
    for (std::uint64_t i = 0; i < 60; ++i) {
      EXPECT_TRUE(link.try_send({.id = i, .address = Address(i * 4096)}, Tick(0)).accepted);
    }
    Tick now;
    for (int answers = 0; answers < 20; ++answers) {
      now = link.advance_to_completion(Tick::never(), sink);
    }
    link.settle(now);
    return counters_of(link);
  };
  EXPECT_EQ(counted(false), counted(true));
}

}  // namespace test_file
}  // namespace nearfar::sim::link

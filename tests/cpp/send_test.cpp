// A driver that has nothing else to send until a line is taken: the short ways through the machine
// give every time and every count that asking again at each wake gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "machine_fixture.h"
#include "sim/cpu/agent.h"
#include "sim/cpu/patterns.h"
#include "sim/machine/direct_reads.h"
#include "sim/machine/machine.h"

namespace nearfar::sim {
namespace test_file {

using testing::optane;
using testing::random_optane;

/// DRAM as it lies on an Optane DIMM, alone on a channel, with queues of any size.
Settings random_dram(std::uint64_t seed) {
  Rng rng(seed);
  Settings settings = optane().moved("nvdimm.dram.", "dram.");
  settings.set("machine", "dram");
  settings.set("channels", rng.below(4) == 0 ? "2" : "1");
  settings.set("dram.queue.read", std::to_string(1 + rng.below(40)));
  const std::uint64_t writes = 4 + rng.below(30);
  settings.set("dram.queue.write", std::to_string(writes));
  settings.set("dram.queue.write_high", std::to_string(writes - 1));
  settings.set("dram.queue.write_low", std::to_string(rng.below(writes - 1)));
  return settings;
}

/// What a driver sees of the lines it sends one after the other, without the wakes.
struct Seen {
  std::vector<Tick> taken;
  std::vector<std::pair<Tick, std::uint64_t>> done;
  std::vector<std::uint64_t> counts;
  friend bool operator==(const Seen&, const Seen&) = default;
};

template <typename Send>
Seen play(const Settings& settings, std::uint64_t seed, const Send& send) {
  Machine machine(settings);
  Rng rng(seed);
  Seen seen;
  Sink sink;
  Tick now;
  const auto note = [&] {
    for (const Completion& told : sink) {
      if (told.kind != Completion::Kind::wake) seen.done.emplace_back(told.time, told.id);
    }
    sink.clear();
  };
  const std::uint32_t writes = static_cast<std::uint32_t>(rng.below(3) * rng.below(60));
  const std::uint64_t lines = std::uint64_t{1} << (2 + rng.below(14));
  for (std::uint64_t id = 0; id < 3000; ++id) {
    Request request{.id = id, .address = Address(rng.below(lines) * line_bytes)};
    if (rng.below(100) < writes) request.op = Op::write;
    request.tell_media = request.op == Op::write && rng.below(2) == 0;
    request.port = port_of(machine.queue_of(request.address), request.op);
    if (rng.below(50) == 0) {
      now += Tick(rng.below(2'000'000));
      machine.advance(now, sink);
    }
    now = send(machine, request, now, sink);
    seen.taken.push_back(now);
    note();
  }
  while (!machine.idle()) {
    now = max(now, machine.next_event());
    machine.advance(now, sink);
    note();
  }
  machine.settle(now);
  Counters counters;
  machine.register_counters(counters);
  for (const Counters::Reading& reading : counters.read()) seen.counts.push_back(reading.value);
  return seen;
}

Tick at_once(Machine& machine, const Request& request, Tick now, Sink& sink) {
  return machine.send(request, now, sink);
}

Tick at_wakes(Machine& machine, const Request& request, Tick now, Sink& sink) {
  return send_at_wakes(machine, request, now, sink);
}

TEST(Send, ALineIsTakenWhenTheWakeOfItsPortWouldHaveLetItIn) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Settings settings = seed % 4 == 0 ? random_optane(seed) : random_dram(seed);
    const Seen seen = play(settings, seed, at_once);
    EXPECT_EQ(seen, play(settings, seed, at_wakes)) << "seed " << seed;
    EXPECT_EQ(std::ranges::count(seen.taken, Tick::never()), 0) << "seed " << seed;
  }
}

TEST(Send, ALineThatFindsItsQueueFullIsCountedAsRefused) {
  Settings settings = random_dram(1);
  settings.set("channels", "1");
  settings.set("dram.queue.read", "2");
  Machine machine(settings);
  Sink sink;
  Tick now;
  for (std::uint64_t id = 0; id < 3; ++id) {
    now = machine.send({.id = id, .address = Address(id * 1'000'000 * line_bytes)}, now, sink);
  }
  Counters counters;
  machine.register_counters(counters);
  std::uint64_t refused = 0;
  for (const auto& [name, value] : counters.read()) {
    if (name.ends_with("refused")) refused += value;
  }
  EXPECT_EQ(refused, 1u);
  EXPECT_GT(now, Tick(0));
}

/// A stream of loads without a core.
std::unique_ptr<cpu::Program> stream(std::uint64_t seed, Bytes area, Bytes stride) {
  cpu::StreamShape shape;
  shape.area = area;
  shape.access = line_bytes;
  shape.stride = stride;
  shape.op = cpu::Step::Kind::load;
  shape.seed = seed;
  return std::make_unique<cpu::StreamAccesses>(shape);
}

struct Figures {
  std::uint64_t lines = 0;
  Tick elapsed, now;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> latencies;
  std::uint64_t latency_sum = 0;
  std::vector<std::uint64_t> counts;
  friend bool operator==(const Figures&, const Figures&) = default;
};

Figures figures(const Machine& machine, const cpu::Agent::Measured& measured, Tick now) {
  Figures found;
  found.lines = measured.lines;
  found.elapsed = measured.elapsed;
  found.now = now;
  measured.latency.each(7, [&](std::uint64_t highest, std::uint64_t count) {
    found.latencies.emplace_back(highest, count);
  });
  found.latency_sum = measured.latency.sum();
  Counters counters;
  machine.register_counters(counters);
  for (const Counters::Reading& reading : counters.read()) found.counts.push_back(reading.value);
  return found;
}

TEST(DirectReads, LoadsWithoutACoreTakeTheTimesThatTheAgentGivesThem) {
  Rng rng(1);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Settings settings = seed % 4 == 0 ? random_optane(seed) : random_dram(seed);
    settings.set("channels", "1");
    const auto outstanding = static_cast<std::uint32_t>(1 + rng.below(80));
    const Bytes area = std::uint64_t{4096} << rng.below(10);
    const Bytes stride = rng.below(2) * line_bytes;
    const cpu::Agent::Limits limits{.lines = 300 + rng.below(2000), .warm_lines = rng.below(300)};

    Machine of_agent(settings);
    cpu::Agent agent(of_agent, cpu::Config::none(outstanding), 1);
    std::vector<std::unique_ptr<cpu::Program>> programs;
    programs.push_back(stream(seed, area, stride));
    const cpu::Agent::Measured expected = agent.run(std::move(programs), limits);

    Machine machine(settings);
    DirectReads reads(machine, outstanding, Tick(0));
    const cpu::Agent::Measured found = reads.run(*stream(seed, area, stride), limits, {});
    EXPECT_EQ(figures(machine, found, reads.now()), figures(of_agent, expected, agent.now()))
        << "seed " << seed;
    EXPECT_NE(found.latency.count(), 0u) << "seed " << seed;
  }
}

}  // namespace test_file
}  // namespace nearfar::sim

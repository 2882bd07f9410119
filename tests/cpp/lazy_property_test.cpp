#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "effort.h"
#include "lazy_fixture.h"
#include "machine_laws.h"

/// What holds for every machine with a Lazy cache, under any stream of requests: nothing is lost,
/// no line is read stale, and a loss of power at any instant leaves what was accepted last.
namespace nearfar::sim::testing {
namespace test_file {

struct Covered {
  std::uint64_t requests = 0;
  std::uint64_t read_hits = 0;
  std::uint64_t absorbed = 0;
  std::uint64_t evicted = 0;
  std::uint64_t migrations = 0;

  void add(const std::map<std::string, std::uint64_t>& counters) {
    for (const auto& [name, value] : counters) {
      if (name.ends_with("lazy.read_hits")) read_hits += value;
      if (name.ends_with("lazy.absorbed")) absorbed += value;
      if (name.ends_with("lazy.evicted")) evicted += value;
      if (name.ends_with("wear.migrations")) migrations += value;
    }
  }

  void expect_enough() const {
    EXPECT_GT(read_hits, requests / 200);
    EXPECT_GT(absorbed, requests / 50);
    EXPECT_GT(evicted, requests / 500);
    EXPECT_GT(migrations, requests / 200);
  }
};

// A million requests in all.
TEST(LazyMachine, ALazyMachineAnswersEachRequestOnceAndKeepsTheOrderOfEachLine) {
  Covered covered;
  for (std::uint64_t seed = 1; seed <= cases(400); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Machine machine(random_lazy(seed));
    StreamShape shape = shape_of(seed);
    shape.count = 2500;
    const auto arrivals = random_stream(machine.capacity(), shape, seed);
    Driving driving;
    driving.fence_every = seed % 3 == 0 ? 50 : 0;
    Outcome outcome;
    ASSERT_NO_THROW(outcome = drive(machine, arrivals, driving));
    expect_conserved(arrivals, outcome);
    expect_ordered(arrivals, outcome);
    expect_final_content(machine, arrivals, outcome);
    if (HasFatalFailure()) return;
    covered.requests += arrivals.size();
    covered.add(outcome.counters);
  }
  covered.expect_enough();
}

TEST(LazyMachine, ALazyMachineGivesTheSameForAnySplitOfTime) {
  for (std::uint64_t seed = 1; seed <= cases(30); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto run = [&](const Driving& driving) {
      Machine machine(random_lazy(seed));
      return drive(machine, random_stream(machine.capacity(), shape_of(seed), seed), driving);
    };
    const Outcome plain = run({});
    for (const bool to_completion : {false, true}) {
      Driving driving;
      driving.splits = seed;
      driving.to_completion = to_completion;
      const Outcome split = run(driving);
      ASSERT_EQ(difference(plain.completions, split.completions), "");
      ASSERT_EQ(plain.counters, split.counters);
    }
  }
}

TEST(LazyMachine, ASavedLazyMachineGoesOnAsItWouldHave) {
  for (std::uint64_t seed = 1; seed <= cases(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Machine machine(random_lazy(seed));
    const Bytes capacity = machine.capacity();
    const Outcome before = drive(machine, random_stream(capacity, shape_of(seed), seed));
    Archive saved;
    machine.state(saved);
    Machine restored(random_lazy(seed));
    Archive read(saved.written());
    restored.state(read);
    ASSERT_TRUE(read.all_read());
    Driving driving;
    driving.start = before.settled;
    const auto more = random_stream(capacity, shape_of(seed + 1), seed + 1);
    const Outcome plain = drive(machine, more, driving);
    const Outcome again = drive(restored, more, driving);
    ASSERT_EQ(difference(plain.completions, again.completions), "");
    ASSERT_EQ(plain.counters, again.counters);
  }
}

/// The settings of a model from before there was a Lazy cache or Pre-translation.
Settings of_old_model() {
  std::istringstream lines(optane_settings);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const bool newer = line.starts_with("nvdimm.lazy.") || line.find("pretranslation.") < 8;
    if (!newer) kept += line + "\n";
  }
  return Settings::parse(kept);
}

TEST(LazyMachine, AMachineWithBothPartsOffDoesAsOneWhoseModelDoesNotKnowThem) {
  ASSERT_FALSE(of_old_model().has("nvdimm.lazy.enabled"));
  ASSERT_FALSE(of_old_model().has("nvdimm.pretranslation.enabled"));
  for (std::uint64_t seed = 1; seed <= cases(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto run = [&](Settings settings) {
      apply(settings, {{"nvdimm.wear.writes", "20"}});
      Machine machine(settings);
      return drive(machine, random_stream(machine.capacity(), shape_of(seed), seed));
    };
    const Outcome old = run(of_old_model());
    const Outcome off = run(optane({{"nvdimm.lazy.lz2.size", "65536"},
                                    {"nvdimm.lazy.threshold", "0"},
                                    {"nvdimm.pretranslation.slots", "64"}}));
    ASSERT_EQ(difference(old.completions, off.completions), "");
    ASSERT_EQ(old.counters, off.counters);
  }
}

/// Random reads and writes; after every event, as if the power failed there, each line written so
/// far is compared.
void follow(std::uint64_t seed, Covered& covered) {
  Machine machine(random_lazy(seed));
  Rng rng(seed);
  const std::uint64_t lines = 1 + rng.below(40);
  const std::uint64_t apart = rng.below(2) == 0 ? line_bytes : 4096 + line_bytes;
  std::map<std::uint64_t, DataHandle> shadow;
  Sink sink;
  Tick now{};
  bool waits = false;
  for (std::uint64_t step = 1; step <= 2500; ++step) {
    if (!waits) {
      Request request;
      request.id = step;
      request.address = Address(rng.below(lines) * apart);
      request.op = rng.below(4) == 0 ? Op::read : Op::write;
      request.data = request.op == Op::write ? step : 0;
      waits = !machine.try_send(request, now).accepted;
      if (!waits) ++covered.requests;
      if (!waits && request.op == Op::write) shadow[request.address.value()] = request.data;
    }
    now = rng.below(3) == 0 ? now + Tick(rng.below(200'000)) : max(now, machine.next_event());
    machine.advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) waits = false;
    }
    sink.clear();
    for (const auto& [line, data] : shadow) {
      ASSERT_EQ(machine.durable(Address(line)), data) << "line " << line << ", step " << step;
    }
  }
  covered.add(counters_of(machine));
}

TEST(LazyMachine, ALossOfPowerLeavesWhatWasAcceptedLastWhetherOrNotTheLazyCacheHoldsIt) {
  Covered covered;
  for (std::uint64_t seed = 1; seed <= cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    follow(seed, covered);
    if (HasFatalFailure()) return;
  }
  covered.expect_enough();
}

std::uint64_t total(const Machine& machine, const std::string& ending) {
  std::uint64_t sum = 0;
  for (const auto& [name, value] : counters_of(machine)) sum += name.ends_with(ending) ? value : 0;
  return sum;
}

/// Sends requests, each when there is room. What was read, once all is idle; or, if the power fails
/// when the last was accepted, as far as it came.
std::map<std::uint64_t, DataHandle> send_all(Machine& machine, const std::vector<Request>& requests,
                                             Tick& now, bool power_fails = false) {
  std::map<std::uint64_t, DataHandle> read;
  Sink sink;
  std::size_t next = 0;
  bool waits = false;
  while (next < requests.size() || (!power_fails && !machine.idle())) {
    if (next < requests.size() && !waits) {
      waits = !machine.try_send(requests[next], now).accepted;
      if (!waits) ++next;
      continue;
    }
    now = max(now, machine.next_event());
    machine.advance(now, sink);
    for (const Completion& one : sink) {
      if (one.kind == Completion::Kind::wake) waits = false;
      if (one.kind == Completion::Kind::done) read[one.address.value()] = one.data;
    }
    sink.clear();
  }
  return read;
}

// What the ADR domain holds is written out as the power fails; the Lazy cache then begins empty.
TEST(LazyMachine, AMachineThatStartsAgainReadsWhatTheLazyCacheHeldWhenThePowerFailed) {
  std::uint64_t absorbed = 0;
  for (std::uint64_t seed = 1; seed <= cases(40); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Machine before(random_lazy(seed));
    std::vector<Request> writes, image, reads;
    std::map<std::uint64_t, DataHandle> last;
    for (std::uint64_t id = 1; id <= 400; ++id) {
      const Address line(rng.below(24) * line_bytes);
      writes.push_back({.id = id, .address = line, .op = Op::write, .data = id});
      last[line.value()] = id;
    }
    Tick now{};
    send_all(before, writes, now, true);
    absorbed += total(before, "lazy.absorbed");
    for (const auto& [at, data] : last) {
      const Address line(at);
      image.push_back({.id = at, .address = line, .op = Op::write, .data = before.durable(line)});
      reads.push_back({.id = at, .address = line});
    }
    Machine after(random_lazy(seed));
    now = {};
    send_all(after, image, now);
    EXPECT_EQ(send_all(after, reads, now), last);
  }
  EXPECT_GT(absorbed, cases(40) * 20);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

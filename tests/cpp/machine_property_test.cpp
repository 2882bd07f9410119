#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "effort.h"
#include "machine_laws.h"
#include "sim/imc/interleave.h"
#include "sim/machine/machine.h"

/// Laws that hold for every machine and every stream: each seed makes a machine and a stream of
/// its own.
namespace nearfar::sim::testing {
namespace test_file {

class RandomMachine : public ::testing::TestWithParam<std::uint64_t> {};

// A million requests in all, over 540 machines.
TEST_P(RandomMachine, ARandomMachineAnswersEachRequestOnceAndKeepsTheOrderOfEachLine) {
  for (std::uint64_t i = 0; i < 27; ++i) {
    const std::uint64_t seed = GetParam() * 100 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Machine machine(random_optane(seed));
    const auto arrivals = random_stream(machine.capacity(), shape_of(seed), seed);
    Driving driving;
    driving.fence_every = i % 3 == 0 ? 50 : 0;
    Outcome outcome;
    ASSERT_NO_THROW(outcome = drive(machine, arrivals, driving));
    expect_conserved(arrivals, outcome);
    expect_ordered(arrivals, outcome);
    expect_final_content(machine, arrivals, outcome);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RandomMachine, ARandomMachineGivesTheSameForTheSameSeedAndAnySplitOfTime) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t seed = GetParam() * 100 + 50 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Settings settings = random_optane(seed);
    const auto run = [&](const Driving& driving) {
      Machine machine(settings);
      return drive(machine, random_stream(machine.capacity(), shape_of(seed), seed), driving);
    };
    const Outcome plain = run({});
    for (const bool to_completion : {false, true}) {
      Driving driving;
      driving.splits = seed;
      driving.to_completion = to_completion;
      const Outcome split = run(driving);
      ASSERT_EQ(difference(plain.completions, split.completions), "");
      ASSERT_EQ(plain.accepted, split.accepted);
      ASSERT_EQ(plain.counters, split.counters);
    }
  }
}

TEST_P(RandomMachine, ARandomMachineThatStartsLaterDoesEverythingThatMuchLater) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t seed = GetParam() * 100 + 80 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    // The refresh of the on-DIMM DRAM keeps its own time, and its clock has edges.
    Settings settings = random_optane(seed);
    settings.set("nvdimm.dram.refresh.enabled", "false");
    const Tick later(750 * 1'000'003ull);
    const auto run = [&](Tick start) {
      Machine machine(settings);
      Driving driving;
      driving.start = start;
      return drive(machine, random_stream(machine.capacity(), shape_of(seed), seed), driving);
    };
    const Outcome early = run(Tick(0));
    Outcome late = run(later);
    for (Completion& completion : late.completions) completion.time -= later;
    ASSERT_EQ(difference(early.completions, late.completions), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMachine, ::testing::Range(std::uint64_t{1}, 1 + cases(20)));

/// FNV-1a over 64-bit words.
class Hash {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte, word >>= 8) {
      value_ = (value_ ^ (word & 0xff)) * 0x100000001b3u;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

TEST(RandomMachines, RandomMachinesAnswerBitForBitTheSameInEveryBuild) {
  // One number for release, debug and sanitizer builds, and for every compiler. A change that
  // is meant to alter times or counts puts the new number here.
  Hash hash;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Machine machine(random_optane(seed));
    const Outcome outcome = drive(machine, random_stream(machine.capacity(), shape_of(seed), seed));
    for (const Completion& completion : outcome.completions) {
      hash.add(completion.time.ps());
      hash.add(completion.id);
      hash.add(completion.address.value());
      hash.add(static_cast<std::uint64_t>(completion.kind));
      hash.add(completion.data);
    }
    for (const auto& [name, value] : outcome.counters) hash.add(value);
  }
  EXPECT_EQ(hash.value(), 5611184007448531437u);
}

TEST(MixedTraffic, MixedTrafficStarvesNoPort) {
  // Writes as fast as they are taken, from eight ports, and reads one after another: no read
  // waits longer than a batch of writes and the reads before it, and no write either.
  Machine machine(quiet_optane());
  std::vector<Arrival> arrivals(20'000);
  Rng rng(5);
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    Request& request = arrivals[i].request;
    request.id = i;
    request.address = Address(rng.below(1 << 20) * line_bytes);
    request.port = static_cast<std::uint16_t>(i % 16);
    request.op = i % 16 < 8 ? Op::write : Op::read;
    request.tell_media = request.op == Op::write;
  }
  const Outcome outcome = drive(machine, arrivals);
  Tick slowest_read{};
  Tick slowest_write{};
  for (const Completion& completion : outcome.completions) {
    if (completion.kind == Completion::Kind::wake) continue;
    const Tick took = completion.time - outcome.accepted[completion.id];
    if (completion.kind == Completion::Kind::media) slowest_write = max(slowest_write, took);
    if (arrivals[completion.id].request.op == Op::read) slowest_read = max(slowest_read, took);
  }
  EXPECT_LT(slowest_read, Tick(20'000'000));
  EXPECT_LT(slowest_write, Tick(60'000'000));
}

TEST(Interleave, AnInterleavingIsABijectionOverTheWholeMemory) {
  for (const std::uint32_t channels : {1u, 2u, 3u, 5u, 6u}) {
    for (const Bytes granularity : {64u, 256u, 4096u}) {
      const imc::Interleave interleave(channels, granularity);
      const Bytes local = 16 * 4096;
      std::set<std::pair<std::uint32_t, std::uint64_t>> places;
      for (Bytes address = 0; address < channels * local; address += line_bytes) {
        const auto place = interleave.place(Address(address));
        ASSERT_LT(place.channel, channels);
        ASSERT_LT(place.local.value(), local);
        ASSERT_TRUE(places.emplace(place.channel, place.local.value()).second);
        ASSERT_EQ(interleave.address(place), Address(address));
      }
    }
  }
}

TEST(Interleave, AnInterleavingDoesNotDependOnBackPressure) {
  // The released VANS mapped an address again at every retry. Here the refused machine and the
  // unhindered one give each channel the same lines.
  const auto lines_of_channels = [](const char* wpq, std::uint64_t gap) {
    Machine machine(quiet_optane({{"channels", "6"}, {"imc.wpq.lines", wpq}}));
    std::vector<Arrival> arrivals(3000);
    Rng rng(2);
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      arrivals[i].time = Tick(gap * i);
      arrivals[i].request.id = i;
      arrivals[i].request.address = Address(rng.below(1 << 20) * line_bytes);
      arrivals[i].request.op = Op::write;
    }
    const Outcome outcome = drive(machine, arrivals);
    std::vector<std::uint64_t> writes;
    std::uint64_t refusals = 0;
    for (int channel = 0; channel < 6; ++channel) {
      const std::string prefix = "channel." + std::to_string(channel) + ".";
      writes.push_back(outcome.counters.at(prefix + "writes"));
      refusals += outcome.counters.at(prefix + "refusals");
    }
    return std::pair(writes, refusals);
  };
  const auto [hindered, refusals] = lines_of_channels("1", 0);
  const auto [free, none] = lines_of_channels("8", 1'000'000);
  EXPECT_EQ(hindered, free);
  EXPECT_GT(refusals, 0u);
  EXPECT_EQ(none, 0u);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

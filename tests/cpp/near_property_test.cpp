#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "effort.h"
#include "machine_laws.h"
#include "near_fixture.h"
#include "sim/machine/build.h"

/// Laws of a near memory in front of a DIMM: each seed makes an organisation, a DIMM and a
/// stream of its own.
namespace nearfar::sim::testing {
namespace test_file {

/// Small enough that everything conflicts; `prefetch` may be drawn.
Settings random_near(std::uint64_t seed, bool prefetch) {
  Rng rng(seed * 31 + 5);
  const auto one_of = [&](std::initializer_list<const char*> values) {
    return std::string(values.begin()[rng.below(values.size())]);
  };
  Settings far = random_optane(seed);
  const Settings keys = Settings::parse(std::string("imc.interleave = 0\n") + near_settings);
  Settings settings = far.moved("nvdimm.dram.", "near.dram.");
  for (const char* key : {"kind", "policy", "tags", "write", "dirty", "inclusive", "write_fetch"}) {
    settings.set(std::string("near.") + key, keys.name(std::string("near.") + key));
  }
  const std::uint64_t line = std::uint64_t{64} << rng.below(4);
  const std::uint64_t ways = 1 + rng.below(9);
  const std::uint64_t sets = 1 + rng.below(40);
  const bool inclusive = rng.below(5) != 0;
  const auto set = [&](const char* key, std::string value) {
    settings.set(std::string("near.") + key, std::move(value));
  };
  set("channels", one_of({"1", "2", "3"}));
  set("interleave", one_of({"512", "4096"}));
  set("line", std::to_string(line));
  set("ways", std::to_string(ways));
  set("capacity", std::to_string(line * ways * sets));
  set("policy", one_of({"lru", "fifo", "random"}));
  set("tags", one_of({"ecc", "data"}));
  set("write", one_of({"back", "back", "through"}));
  set("dirty", one_of({"line", "sector"}));
  set("inclusive", inclusive ? "true" : "false");
  set("write_fetch", one_of({"false", "true"}));
  set("prefetch", prefetch && inclusive ? one_of({"none", "next_line"}) : "none");
  set("app_direct", one_of({"0", "4096", "524288"}));
  set("latency", one_of({"0", "2000", "30000"}));
  set("queue.read", one_of({"1", "2", "5", "64"}));
  set("queue.write", one_of({"1", "3", "64"}));
  return settings;
}

/// A stream of which a part goes to the end of the memory, where App Direct may be.
std::vector<Arrival> stream_of(const Device& memory, std::uint64_t seed) {
  StreamShape shape = shape_of(seed);
  shape.count = 1000;
  auto arrivals = random_stream(memory.capacity(), shape, seed);
  Rng rng(seed);
  for (Arrival& arrival : arrivals) {
    if (rng.below(8) != 0) continue;
    arrival.request.address =
        Address(memory.capacity() - line_bytes - arrival.request.address.value() % 8192);
  }
  return arrivals;
}

class RandomNear : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomNear, ARandomNearMemoryAnswersEachRequestOnceAndKeepsTheOrderOfEachLine) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t seed = GetParam() * 100 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto memory = build(random_near(seed, true));
    const auto arrivals = stream_of(*memory, seed);
    Driving driving;
    driving.fence_every = i % 3 == 0 ? 50 : 0;
    Outcome outcome;
    ASSERT_NO_THROW(outcome = drive(*memory, arrivals, driving));
    expect_conserved(arrivals, outcome);
    expect_ordered(arrivals, outcome);
    expect_final_content(*memory, arrivals, outcome);
    if (HasFatalFailure()) return;
  }
}

TEST_P(RandomNear, ARandomNearMemoryGivesTheSameForAnySplitOfTime) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t seed = GetParam() * 100 + 50 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto run = [&](const Driving& driving) {
      const auto memory = build(random_near(seed, true));
      return drive(*memory, stream_of(*memory, seed), driving);
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

/// A set-associative cache as a textbook has it: per set a list of lines, the next to go first.
class OfflineCache {
 public:
  explicit OfflineCache(const Settings& settings)
      : line_(settings.bytes("near.line")),
        ways_(settings.count("near.ways")),
        sets_(settings.bytes("near.capacity") / line_ / ways_),
        policy_(settings.name("near.policy")),
        inclusive_(settings.flag("near.inclusive")),
        seed_(settings.count("seed")) {}

  bool access(std::uint64_t address, bool write) {
    const std::uint64_t line = address / line_;
    const std::uint64_t number = line % sets_;
    Set& set = content_[number];
    const auto found = std::find(set.lines.begin(), set.lines.end(), line);
    if (found != set.lines.end()) {
      if (policy_ == "lru") std::rotate(found, found + 1, set.lines.end());
      return true;
    }
    if (!write && !inclusive_) return false;
    if (set.lines.size() < ways_) {
      set.lines.push_back(line);
    } else if (policy_ == "random") {
      // Ways keep their places; the draw depends on the set and how often it was filled.
      Rng rng(seed_ ^ (number * 0x9e3779b97f4a7c15u + set.fills));
      set.lines[rng.below(ways_)] = line;
    } else {
      set.lines.erase(set.lines.begin());
      set.lines.push_back(line);
    }
    ++set.fills;
    return false;
  }

 private:
  struct Set {
    std::vector<std::uint64_t> lines;
    std::uint64_t fills = 0;
  };
  std::uint64_t line_, ways_, sets_;
  std::string policy_;
  bool inclusive_;
  std::uint64_t seed_;
  std::unordered_map<std::uint64_t, Set> content_;
};

TEST_P(RandomNear, ARandomNearMemoryHasTheHitsOfAnOfflineModel) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t seed = GetParam() * 100 + 60 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Settings settings = random_near(seed, false);
    const auto memory = build(settings);
    const auto arrivals = stream_of(*memory, seed);
    const Outcome outcome = drive(*memory, arrivals);
    OfflineCache offline(settings);
    std::uint64_t hits[2] = {};
    std::uint64_t misses[2] = {};
    const Bytes cached = memory->capacity() - settings.bytes("near.app_direct");
    for (const std::size_t n : outcome.order) {
      const Request& request = arrivals[n].request;
      if (request.address.value() >= cached) continue;
      const bool write = request.op == Op::write;
      ++(offline.access(request.address.value(), write) ? hits : misses)[write ? 1 : 0];
    }
    ASSERT_EQ(outcome.counters.at("near.read_hits"), hits[0]);
    ASSERT_EQ(outcome.counters.at("near.write_hits"), hits[1]);
    ASSERT_EQ(outcome.counters.at("near.read_misses"), misses[0]);
    ASSERT_EQ(outcome.counters.at("near.write_misses"), misses[1]);
  }
}

/// Every access that the counters tell of was made, and nothing else: on the near DRAM and at
/// the DIMMs' controllers.
TEST_P(RandomNear, ARandomNearMemoryMakesJustTheAccessesItCounts) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t seed = GetParam() * 100 + 80 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto memory = build(random_near(seed, true));
    const Outcome outcome = drive(*memory, stream_of(*memory, seed));
    const auto of = [&](const char* name) {
      return outcome.counters.at(std::string("near.") + name);
    };
    EXPECT_EQ(near_dram(*memory, "reads"), of("probes") + of("data_reads") + of("victim_reads"));
    EXPECT_EQ(near_dram(*memory, "writes"),
              of("fills") + of("claims") + of("data_writes") + of("tag_writes"));
    std::uint64_t far_reads = 0;
    std::uint64_t far_writes = 0;
    for (int channel = 0; channel < 6; ++channel) {
      const std::string prefix = "channel." + std::to_string(channel) + ".";
      if (!outcome.counters.contains(prefix + "reads")) continue;
      far_reads += outcome.counters.at(prefix + "reads");
      far_writes += outcome.counters.at(prefix + "writes");
    }
    EXPECT_EQ(far_reads, of("fetches") + of("direct_reads"));
    EXPECT_EQ(far_writes, of("write_backs") + of("write_throughs") + of("direct_writes"));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNear, ::testing::Range(std::uint64_t{1}, 1 + cases(10)));

}  // namespace test_file
}  // namespace nearfar::sim::testing

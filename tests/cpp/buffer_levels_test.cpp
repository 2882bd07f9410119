#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "effort.h"
#include "machine_laws.h"

/// DIMMs of one, two and three buffer levels, with entries smaller and larger than what the media
/// move: no request is lost, no data are stale, and what moves is what the sizes say. Hit counts
/// against replacement on paper are in tests/python/model/test_model_random.py.
namespace nearfar::sim::testing {
namespace test_file {

/// A DIMM with so many levels; a third one gets what the second had.
Settings with_levels(Settings settings, int levels) {
  settings.set("nvdimm.levels", std::to_string(levels));
  if (levels < 3) return settings;
  for (const char* key :
       {"entries", "entry", "ways", "policy", "latency", "fill", "data_latency"}) {
    const std::string name = key;
    settings.set("nvdimm.buffer.3." + name, settings.name("nvdimm.buffer.2." + name));
  }
  return settings;
}

std::string text(std::uint64_t number) { return std::to_string(number); }

/// Small everywhere, so that buffers overflow and sets fill with what is on its way.
Settings random_levels(std::uint64_t seed) {
  Rng rng(seed * 77);
  Settings settings = with_levels(random_optane(seed), static_cast<int>(1 + seed % 3));
  const Bytes access = Bytes{64} << rng.below(4);
  const Bytes first = Bytes{64} << rng.below(6);
  const Bytes second = first << rng.below(3);
  const auto policy = [&] {
    const char* const names[] = {"fifo", "lru", "random"};
    return std::string(names[rng.below(3)]);
  };
  const auto set_buffer = [&](int level, std::uint64_t ways, std::uint64_t sets, Bytes entry) {
    const std::string prefix = "nvdimm.buffer." + std::to_string(level) + ".";
    settings.set(prefix + "entries", text(ways * sets));
    settings.set(prefix + "ways", text(ways));
    settings.set(prefix + "entry", text(entry));
    settings.set(prefix + "policy", policy());
  };
  settings.set("nvdimm.media.access", text(access));
  const std::uint64_t least = std::max<Bytes>(1, access / first);
  const std::uint64_t ways = 1 + rng.below(6);
  const std::uint64_t sets = (least + ways - 1) / ways + rng.below(4);
  set_buffer(1, ways, sets, first);
  const Bytes page = std::max({Bytes{512} << rng.below(4), access, second});
  settings.set("nvdimm.wear.block", text(std::max<Bytes>(page, 4096)));
  if (seed % 3 == 1) set_buffer(2, 1 + rng.below(4), 1 + rng.below(5), page);
  if (seed % 3 == 2) {
    // Room for all of the first level, however its entries lie.
    set_buffer(2, ways * (1 + rng.below(2)), sets * (1 + rng.below(3)), second);
    settings.set("nvdimm.buffer.2.latency", text(rng.below(80'000)));
    set_buffer(3, 1 + rng.below(4), 1 + rng.below(5), page);
  }
  return settings;
}

StreamShape even_shape(std::uint64_t seed) {
  StreamShape shape;
  shape.count = 1500;
  shape.writes_percent = static_cast<std::uint32_t>(seed % 5 * 20);
  shape.hot_percent = static_cast<std::uint32_t>(seed % 7 * 15);
  shape.mean_gap_ps = std::uint64_t{1} << (8 + seed % 12);
  return shape;
}

/// A read finds what was written to its line last before it was accepted, or something later.
void expect_fresh(const std::vector<Arrival>& arrivals, const Outcome& outcome) {
  std::map<std::uint64_t, std::size_t> index_of;
  for (std::size_t i = 0; i < arrivals.size(); ++i) index_of[arrivals[i].request.id] = i;
  // By line: the data in order of acceptance; by read: how many were in when it was accepted.
  std::map<std::uint64_t, std::vector<DataHandle>> written;
  std::map<std::size_t, std::size_t> before;
  for (const std::size_t i : outcome.order) {
    auto& data = written[arrivals[i].request.address.value()];
    if (arrivals[i].request.op == Op::write) {
      data.push_back(arrivals[i].request.data);
    } else {
      before[i] = data.size();
    }
  }
  std::size_t answered = 0;
  for (const Completion& completion : outcome.completions) {
    if (completion.kind != Completion::Kind::done) continue;
    ++answered;
    const std::size_t i = index_of.at(completion.id);
    if (arrivals[i].request.op != Op::read) continue;
    const auto& data = written[completion.address.value()];
    const std::size_t from = before.at(i);
    bool found = from == 0 && completion.data == 0;
    for (std::size_t at = from == 0 ? 0 : from - 1; at < data.size(); ++at) {
      found = found || completion.data == data[at];
    }
    ASSERT_TRUE(found) << "stale data at address " << completion.address.value();
  }
  ASSERT_EQ(answered, arrivals.size());
}

class BufferLevels : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(BufferLevels, BufferLevelsAnswerEveryRequestWithFreshDataAndForgetNothing) {
  for (std::uint64_t i = 0; i < 9; ++i) {
    const std::uint64_t seed = GetParam() * 9 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Machine machine(random_levels(seed));
    const auto arrivals = random_stream(machine.capacity(), even_shape(seed), seed);
    Outcome outcome;
    ASSERT_NO_THROW(outcome = drive(machine, arrivals));
    expect_fresh(arrivals, outcome);
    if (HasFatalFailure()) return;
    expect_final_content(machine, arrivals, outcome);
    if (HasFatalFailure()) return;
  }
}

TEST_P(BufferLevels, BufferLevelsDoTheSameHoweverTimeIsCut) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t seed = 1000 + GetParam() * 3 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Settings settings = random_levels(seed);
    const auto run = [&](const Driving& driving) {
      Machine machine(settings);
      return drive(machine, random_stream(machine.capacity(), even_shape(seed), seed), driving);
    };
    const Outcome plain = run({});
    Driving cut;
    cut.splits = seed;
    cut.to_completion = true;
    const Outcome split = run(cut);
    ASSERT_EQ(difference(plain.completions, split.completions), "");
    ASSERT_EQ(plain.counters, split.counters);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BufferLevels, ::testing::Range(std::uint64_t{1}, 1 + cases(24)));

/// A quiet DIMM with so many levels and what else is said.
Settings levels_with(int levels, const Overrides& overrides) {
  Settings settings = with_levels(quiet_optane(), levels);
  for (const auto& [key, value] : overrides) settings.set(key, value);
  return settings;
}

/// Reads and writes one after another, each after the last has had its effects.
Outcome one_by_one(const Settings& settings, const std::vector<std::pair<Op, Bytes>>& accesses) {
  Machine machine(settings);
  std::vector<Arrival> arrivals;
  for (const auto& [op, address] : accesses) {
    Request request;
    request.id = arrivals.size();
    request.address = Address(address);
    request.op = op;
    request.tell_media = op == Op::write;
    arrivals.push_back({Tick(50'000'000) * arrivals.size(), request});
  }
  return drive(machine, arrivals);
}

std::uint64_t count(const Outcome& outcome, const std::string& name) {
  return outcome.counters.at("channel.0.dimm." + name);
}

TEST(FirstLevel, TheFirstLevelFillsAnEntryOfSeveralBlocksWhole) {
  const Settings settings = levels_with(2, {{"nvdimm.buffer.1.entry", "2048"}});
  const Outcome found = one_by_one(settings, {{Op::read, 576}, {Op::read, 0}, {Op::read, 1984}});
  EXPECT_EQ(count(found, "media.read_bytes"), 2048u);
  EXPECT_EQ(count(found, "rmw.misses"), 1u);
  EXPECT_EQ(count(found, "rmw.hits"), 2u);
  EXPECT_EQ(count(found, "table.reads"), 1u);
}

TEST(FirstLevel, TheFirstLevelGetsTheWantedBlockFirst) {
  const auto latency = [](const char* entry, Bytes address) {
    const Outcome found =
        one_by_one(levels_with(2, {{"nvdimm.buffer.1.entry", entry}}), {{Op::read, address}});
    return found.completions.front().time;
  };
  EXPECT_EQ(latency("4096", 3840), latency("256", 3840));
  EXPECT_EQ(latency("4096", 0), latency("256", 0));
}

TEST(FirstLevel, TheFirstLevelKeepsItsPartOfALargerBlock) {
  const Settings settings = levels_with(2, {{"nvdimm.buffer.1.entry", "64"}});
  const Outcome found = one_by_one(settings, {{Op::read, 0}, {Op::read, 64}, {Op::read, 0}});
  EXPECT_EQ(count(found, "media.read_bytes"), 2 * 256u);
  EXPECT_EQ(count(found, "rmw.misses"), 2u);
  EXPECT_EQ(count(found, "rmw.hits"), 1u);
}

TEST(FirstLevel, TheFirstLevelHasOnlyTheWrittenBlocksOfAnEntry) {
  // The rest of the entry comes when it is read.
  const Settings settings =
      levels_with(2, {{"nvdimm.buffer.1.entry", "1024"}, {"nvdimm.lsq.hold", "0"}});
  const Outcome found =
      one_by_one(settings, {{Op::write, 256}, {Op::read, 320}, {Op::read, 0}, {Op::read, 960}});
  EXPECT_EQ(count(found, "media.write_bytes"), 256u);
  EXPECT_EQ(count(found, "rmw.hits"), 2u) << "the block that was written, and the last";
  EXPECT_EQ(count(found, "rmw.misses"), 1u);
  EXPECT_EQ(count(found, "media.read_bytes"), 3 * 256u);
}

TEST(MediaBlocks, WritesCombineToWholeMediaBlocks) {
  // Whatever the entries are: four lines of a block are one write to the media.
  for (const char* entry : {"64", "256", "2048"}) {
    const Settings settings =
        levels_with(2, {{"nvdimm.buffer.1.entry", entry}, {"nvdimm.lsq.hold", "1000000"}});
    Machine machine(settings);
    std::vector<Arrival> arrivals;
    for (std::uint64_t line = 0; line < 4; ++line) {
      Request request;
      request.id = line;
      request.address = Address(line * line_bytes);
      request.op = Op::write;
      request.tell_media = true;
      arrivals.push_back({Tick(0), request});
    }
    const Outcome found = drive(machine, arrivals);
    EXPECT_EQ(count(found, "media.writes"), 1u) << entry;
    EXPECT_EQ(count(found, "media.write_bytes"), 256u) << entry;
    EXPECT_EQ(count(found, "media.merges"), 0u) << entry;
  }
}

TEST(OneLevel, ASingleLevelReadsTheTableForEveryMiss) {
  const Outcome found =
      one_by_one(levels_with(1, {}), {{Op::read, 0}, {Op::read, 256}, {Op::read, 64}});
  EXPECT_EQ(count(found, "table.reads"), 2u);
  EXPECT_EQ(count(found, "rmw.hits"), 1u);
  EXPECT_EQ(found.counters.count("channel.0.dimm.ait.hits"), 0u);
}

TEST(MiddleLevel, TheMiddleLevelAnswersAfterItsOwnLatencyWithoutMediaOrTable) {
  const Settings settings = levels_with(3, {{"nvdimm.buffer.1.entries", "1"},
                                            {"nvdimm.buffer.1.ways", "1"},
                                            {"nvdimm.buffer.2.entry", "1024"},
                                            {"nvdimm.buffer.2.latency", "70000"}});
  const Outcome found = one_by_one(settings, {{Op::read, 0}, {Op::read, 768}, {Op::read, 768}});
  EXPECT_EQ(count(found, "media.read_bytes"), 1024u);
  EXPECT_EQ(count(found, "middle.hits"), 1u);
  EXPECT_EQ(count(found, "middle.misses"), 1u);
  EXPECT_EQ(count(found, "table.reads"), 1u);
  const Tick from_middle = found.completions[1].time - Tick(50'000'000);
  const Tick from_first = found.completions[2].time - Tick(100'000'000);
  EXPECT_EQ(from_middle - from_first, Tick(70'000));
}

TEST(MiddleLevel, TheMiddleLevelTakesAlongTheFirstLevelsPartOfAnEntryThatLeaves) {
  const Settings settings = levels_with(3, {{"nvdimm.buffer.1.entries", "2"},
                                            {"nvdimm.buffer.1.ways", "2"},
                                            {"nvdimm.buffer.1.policy", "lru"},
                                            {"nvdimm.buffer.2.entries", "2"},
                                            {"nvdimm.buffer.2.ways", "2"},
                                            {"nvdimm.buffer.2.policy", "fifo"},
                                            {"nvdimm.buffer.2.entry", "1024"}});
  // The first hit renews entry 0 in the first level; in the second it stays the oldest.
  const Outcome found = one_by_one(
      settings, {{Op::read, 0}, {Op::read, 1024}, {Op::read, 0}, {Op::read, 2048}, {Op::read, 0}});
  EXPECT_EQ(count(found, "rmw.hits"), 1u);
  EXPECT_EQ(count(found, "middle.misses"), 4u);
}

TEST(Levels, ImpossibleLevelsAreAnErrorThatNamesThem) {
  const auto refusal = [](int levels, const Overrides& overrides) -> std::string {
    try {
      const Machine machine(levels_with(levels, overrides));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal(3, {{"nvdimm.levels", "4"}}).find("nvdimm.levels is 4"), std::string::npos);
  EXPECT_NE(refusal(3, {{"nvdimm.buffer.2.entries", "16"}, {"nvdimm.buffer.2.entry", "256"}})
                .find("room for all of nvdimm.buffer.1"),
            std::string::npos);
  EXPECT_NE(refusal(3, {{"nvdimm.buffer.2.entry", "128"}}).find("nvdimm.buffer.2.entry is 128 B"),
            std::string::npos);
  EXPECT_NE(refusal(2, {{"nvdimm.buffer.1.entry", "64"}, {"nvdimm.buffer.2.entry", "128"}})
                .find("nvdimm.buffer.2.entry is 128 B, expected a power of two from 256"),
            std::string::npos);
  EXPECT_NE(refusal(1, {{"nvdimm.buffer.1.entry", "8192"}}).find("nvdimm.wear.block is 4096 B"),
            std::string::npos);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

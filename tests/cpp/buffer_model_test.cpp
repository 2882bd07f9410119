#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "effort.h"
#include "machine_bench.h"

/// The DIMM's hit counts against a model that knows nothing of time: replacement by brute force.
namespace nearfar::sim::testing {
namespace test_file {

constexpr Bytes page_bytes = 4096;
using Counts = std::map<std::string, std::uint64_t>;

/// A buffer on paper: for each set the blocks in it, the next to leave first.
class PaperBuffer {
 public:
  PaperBuffer(std::uint64_t entries, std::uint64_t ways, bool lru)
      : ways_(ways), lru_(lru), sets_(entries / ways) {}

  /// Whether `block` was there; afterwards it is.
  bool access(std::uint64_t block) {
    auto& set = sets_[block % sets_.size()];
    const auto found = std::find(set.begin(), set.end(), block);
    const bool hit = found != set.end();
    if (hit && !lru_) return true;
    if (hit) set.erase(found);
    if (set.size() == ways_) set.erase(set.begin());
    set.push_back(block);
    return hit;
  }

 private:
  std::uint64_t ways_;
  bool lru_;
  std::vector<std::vector<std::uint64_t>> sets_;
};

/// What a DIMM counts when it does one thing after another.
class PaperDimm {
 public:
  explicit PaperDimm(const Settings& settings)
      : fill_(settings.name("nvdimm.buffer.2.fill")),
        block_bytes_(settings.bytes("nvdimm.buffer.1.entry")),
        rmw_(buffer(settings, "nvdimm.buffer.1.")),
        ait_(buffer(settings, "nvdimm.buffer.2.")) {}

  void read(std::uint64_t address) {
    const std::uint64_t block = address / block_bytes_;
    if (rmw_.access(block)) {
      ++counts["rmw.hits"];
      return;
    }
    ++counts["rmw.misses"];
    auto& held = translate(address / page_bytes);
    if (held.count(block) != 0) {
      ++counts["ait.block_hits"];
      return;
    }
    fetch();
    if (fill_ != "none") held.insert(block);
    if (fill_ != "page") return;
    const std::uint64_t blocks = page_bytes / block_bytes_;
    for (std::uint64_t other = block / blocks * blocks; other < (block / blocks + 1) * blocks;
         ++other) {
      if (held.insert(other).second) fetch();
    }
  }

  void write(std::uint64_t address) {
    const bool there = rmw_.access(address / block_bytes_);
    if (!there && block_bytes_ > line_bytes) ++counts["media.merges"];
    translate(address / page_bytes);
    ++counts["media.writes"];
    counts["media.write_bytes"] += block_bytes_;
  }

  Counts counts{{"rmw.hits", 0},         {"rmw.misses", 0},   {"ait.hits", 0},
                {"ait.misses", 0},       {"table.reads", 0},  {"ait.block_hits", 0},
                {"media.read_bytes", 0}, {"media.merges", 0}, {"media.writes", 0},
                {"media.write_bytes", 0}};

 private:
  static PaperBuffer buffer(const Settings& settings, const std::string& prefix) {
    return {settings.count(prefix + "entries"), settings.count(prefix + "ways"),
            settings.name(prefix + "policy") == "lru"};
  }

  void fetch() { counts["media.read_bytes"] += block_bytes_; }

  /// The blocks of the page that the on-DIMM DRAM holds.
  std::set<std::uint64_t>& translate(std::uint64_t page) {
    if (ait_.access(page)) {
      ++counts["ait.hits"];
    } else {
      ++counts["ait.misses"];
      ++counts["table.reads"];
      held_[page].clear();
    }
    return held_[page];
  }

  std::string fill_;
  Bytes block_bytes_;
  PaperBuffer rmw_;
  PaperBuffer ait_;
  std::map<std::uint64_t, std::set<std::uint64_t>> held_;
};

/// The same counts, as the machine has them.
Counts counted(const Machine& machine, const Counts& names) {
  const auto all = counters_of(machine);
  Counts counts;
  for (const auto& [name, value] : names) counts[name] = all.at("channel.0.dimm." + name);
  return counts;
}

/// Random buffers of the two policies that are not random; `least_ways` and up.
Overrides random_buffers(std::uint64_t seed, std::uint64_t least_ways) {
  Rng rng(seed);
  const auto sizes = [&](const std::string& prefix) -> Overrides {
    const std::uint64_t ways = least_ways + rng.below(20);
    const std::uint64_t sets = 1 + rng.below(6);
    return {{prefix + "entries", std::to_string(ways * sets)},
            {prefix + "ways", std::to_string(ways)},
            {prefix + "policy", rng.below(2) == 0 ? "fifo" : "lru"}};
  };
  Overrides overrides = sizes("nvdimm.buffer.1.");
  for (const auto& item : sizes("nvdimm.buffer.2.")) overrides.push_back(item);
  const char* const blocks[] = {"64", "256", "256", "512"};
  const char* const block = blocks[rng.below(4)];
  overrides.emplace_back("nvdimm.media.access", block);
  overrides.emplace_back("nvdimm.buffer.1.entry", block);
  return overrides;
}

/// An address of one of a few hundred pages, near ones and recent ones more often.
class Addresses {
 public:
  explicit Addresses(std::uint64_t seed) : rng_(seed) {}
  std::uint64_t next() {
    const std::uint64_t kind = rng_.below(4);
    if (kind == 0) line_ = rng_.below(256 * 64);
    if (kind == 1) line_ = rng_.below(16) * 64 + rng_.below(8) * 8;
    if (kind == 2) line_ = (line_ + 1 + rng_.below(9)) % (256 * 64);
    return line_ * line_bytes;  // or the same again
  }
  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }

 private:
  Rng rng_;
  std::uint64_t line_ = 0;
};

TEST(PaperModel, APaperModelAgreesWithTheCountsOfTheDimmOneAccessAfterAnother) {
  for (std::uint64_t seed = 0; seed < cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Overrides overrides = random_buffers(seed, 1);
    const char* const fills[] = {"none", "sector", "page"};
    overrides.emplace_back("nvdimm.buffer.2.fill", fills[seed % 3]);
    overrides.emplace_back("nvdimm.lsq.hold", "0");
    Bench bench(overrides);
    PaperDimm paper(quiet_optane(overrides));
    Addresses addresses(seed);
    const std::uint64_t writes_percent = seed % 4 * 20;
    for (std::uint64_t id = 0; id < 1500; ++id) {
      const std::uint64_t address = addresses.next();
      if (addresses.below(100) < writes_percent) {
        ASSERT_TRUE(bench.send(write_of(id, address, 0)));
        paper.write(address);
      } else {
        ASSERT_TRUE(bench.send(read_of(id, address)));
        paper.read(address);
      }
      bench.advance(bench.now() + Tick(20'000'000));
    }
    ASSERT_EQ(counted(bench.machine(), paper.counts), paper.counts);
  }
}

TEST(PaperModel, APaperModelAgreesWithTheCountsOfTheDimmForOverlappingReads) {
  // Eight reads at a time, sets of more than eight ways: what is on its way in is never the
  // block whose turn it is to leave, so time must make no difference.
  for (std::uint64_t seed = 0; seed < cases(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Overrides overrides = random_buffers(seed, 9);
    overrides.emplace_back("imc.rpq.lines", "8");
    Machine machine(quiet_optane(overrides));
    PaperDimm paper(quiet_optane(overrides));
    Addresses addresses(seed);
    std::vector<Arrival> arrivals;
    Tick time{};
    for (std::uint64_t id = 0; id < 3000; ++id) {
      time += Tick(addresses.below(60'000));
      arrivals.push_back({time, read_of(id, addresses.next())});
      paper.read(arrivals.back().request.address.value());
    }
    drive(machine, arrivals);
    ASSERT_EQ(counted(machine, paper.counts), paper.counts);
  }
}

/// Misses of the RMW buffer in a walk over `blocks` blocks, again and again, after the first time.
std::uint64_t misses_of_walk(const Overrides& overrides, std::uint64_t blocks, std::uint64_t step) {
  Bench bench(overrides);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < 5 * blocks; ++i) {
    if (i == blocks) before = counters_of(bench.machine()).at("channel.0.dimm.rmw.misses");
    EXPECT_TRUE(bench.send(read_of(i, i % blocks * step)));
    bench.wait_for(i);
  }
  return counters_of(bench.machine()).at("channel.0.dimm.rmw.misses") - before;
}

TEST(RmwBuffer, TheRmwBufferLosesNothingOfAWalkThatFitsAndAllOfOneThatDoesNot) {
  // As Sec'23 measured: no eviction in a same-order walk of 64 blocks, nothing else at 65.
  for (const char* policy : {"fifo", "lru"}) {
    const Overrides overrides{{"nvdimm.buffer.1.policy", policy}};
    EXPECT_EQ(misses_of_walk(overrides, 64, 256), 0u);
    EXPECT_EQ(misses_of_walk(overrides, 65, 256), 4 * 65u);
  }
  const std::uint64_t at_random =
      misses_of_walk(Overrides{{"nvdimm.buffer.1.policy", "random"}}, 65, 256);
  EXPECT_GT(at_random, 0u);
  EXPECT_LT(at_random, 4 * 65u / 4) << "of 65 blocks few are missing";
}

TEST(RmwBuffer, TheRmwBufferKeepsTheSetsApart) {
  // 64 blocks of one set of four ways: each throws another out. Neighbours: nothing is lost.
  const Overrides overrides{{"nvdimm.buffer.1.ways", "4"}};
  EXPECT_EQ(misses_of_walk(overrides, 64, 256), 0u);
  EXPECT_EQ(misses_of_walk(overrides, 4, 16 * 256), 0u);
  EXPECT_EQ(misses_of_walk(overrides, 5, 16 * 256), 4 * 5u);
}

TEST(RmwBuffer, TheRmwBufferIsWholeAfterAWriteOfPartOfABlock) {
  // The media merged the rest in: a read of another line of the block is a hit.
  Bench bench(Overrides{{"nvdimm.lsq.hold", "0"}});
  ASSERT_TRUE(bench.send(write_of(1, 0, 5)));
  bench.advance(Tick(100'000'000));
  ASSERT_TRUE(bench.send(read_of(2, 192)));
  bench.wait_for(2);
  const auto counts = counters_of(bench.machine());
  EXPECT_EQ(counts.at("channel.0.dimm.rmw.hits"), 1u);
  EXPECT_EQ(counts.at("channel.0.dimm.media.read_bytes"), 0u);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

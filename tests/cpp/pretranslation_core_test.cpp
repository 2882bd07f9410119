#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core_fixture.h"
#include "sim/machine/machine.h"
#include "sim/machine/tables.h"

/// Cores that run programs of marked loads on a DIMM with Pre-translation.
namespace nearfar::sim::cpu {
namespace test_file {

using namespace testing;
using sim::testing::Overrides;

constexpr std::uint64_t pages = 1024;
constexpr std::uint64_t first_page = 16;
constexpr Bytes place = 40;  ///< of a node in its page

/// A program's pages in frames in no order.
class Scattered final : public PageMap {
 public:
  explicit Scattered(std::uint64_t seed) : frames_(2 * pages) {
    std::iota(frames_.begin(), frames_.end(), 0u);
    Rng rng(seed);
    for (std::size_t i = frames_.size(); i > 1; --i) {
      std::swap(frames_[i - 1], frames_[rng.below(i)]);
    }
  }
  Frame frame_of(Address address) override { return *find(address); }
  [[nodiscard]] std::optional<Frame> find(Address address) const override {
    const std::uint64_t page = address.block(Tlb::small_page);
    if (page < first_page || page >= first_page + pages) return std::nullopt;
    return Frame{Address(frames_[page - first_page] * Tlb::small_page), false};
  }
  /// Each page moves to where another was.
  void move() {
    std::rotate(frames_.begin(), frames_.begin() + 1, frames_.begin() + pages);
    ++generation_;
  }

 private:
  std::vector<std::uint64_t> frames_;
};

struct Ran {
  Tick time;
  std::map<std::string, std::uint64_t> counters;
  [[nodiscard]] std::uint64_t of(const std::string& name) const { return counters.at(name); }
};

/// A list of a node a page, walked `rounds` times; before the last, pages move if `moves`.
Ran run(CoreConfig::Kind kind, Overrides overrides, bool marked, int rounds = 4,
        bool moves = false) {
  overrides.insert(overrides.end(), {{"cpu.page", "4096"},
                                     {"cpu.l1.size", "4096"},
                                     {"cpu.l2.size", "16384"},
                                     {"cpu.l3.size", "67584"},
                                     {"cpu.l3.slices", "3"},
                                     {"cpu.tlb.l2.entries", "96"}});
  const Settings settings = sim::testing::quiet_optane(overrides);
  Machine memory(settings);
  const CoreMachine usual(kind);
  Scattered map(3);
  Socket socket(memory, core_of(settings, memory.capacity()), 1);
  Cores cores(socket, usual.core, map);
  cores.add();
  std::vector<std::uint64_t> order(pages);
  std::iota(order.begin(), order.end(), first_page);
  Rng rng(9);
  for (std::size_t i = pages; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  Block block;
  block.instructions = {mov_load({.destinations = {0}, .address = {0}})};
  for (int round = 0; round < rounds; ++round) {
    if (moves && round == rounds - 1) {
      EXPECT_TRUE(cores.catch_up(0));
      for (const std::uint64_t page : order) {
        const Address frame = map.frame_of(Address(page * Tlb::small_page)).frame;
        socket.caches().flush(frame + place, false);
      }
      map.move();
    }
    for (std::size_t i = 0; i < pages; ++i) {
      const auto node = [&](std::size_t n) { return order[n % pages] * Tlb::small_page + place; };
      std::vector<Access> accesses{{.address = node(i), .size = 8}};
      if (marked) accesses.push_back({.address = node(i + 1), .pointer = true});
      cores.feed(0, block, accesses);
    }
  }
  EXPECT_TRUE(cores.catch_up(0));
  Ran ran{.time = cores.clock(0), .counters = {}};
  Counters counters;
  socket.caches().register_counters(counters);
  for (const auto& [name, value] : counters.read()) ran.counters[name] = value;
  return ran;
}

const Overrides on{{"nvdimm.pretranslation.enabled", "true"}};

TEST(PretranslationOnCores, MarkedLoadsSaveTheirTlbMissesOnBothCores) {
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    const Ran plain = run(kind, on, false);
    const Ran marked = run(kind, on, true);
    EXPECT_EQ(plain.of("tlb.walks"), 4 * pages);
    EXPECT_EQ(marked.of("tlb.walks"), pages + 1);
    EXPECT_EQ(marked.of("pretranslation.marked"), 4 * pages);
    EXPECT_EQ(marked.of("pretranslation.updates"), pages);
    EXPECT_EQ(marked.of("pretranslation.stale"), 0u);
    EXPECT_LT(marked.time, plain.time);
  }
}

TEST(PretranslationOnCores, PagesThatMovedAreReadWhereTheyLieAndToldOnce) {
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    for (const char* speculate : {"false", "true"}) {
      Overrides overrides = on;
      overrides.emplace_back("cpu.pretranslation.speculate", speculate);
      const Ran stayed = run(kind, overrides, true, 4);
      const Ran moved = run(kind, overrides, true, 4, true);
      // But for the ends of the list. A few of the places that they would have been read from were
      // read shortly before, and are in the caches: there the walk comes first.
      const std::uint64_t stale = moved.of("pretranslation.stale");
      const std::uint64_t walked = moved.of("tlb.walks") - stayed.of("tlb.walks");
      EXPECT_NEAR(static_cast<double>(stale), pages, 0.01 * pages);
      EXPECT_EQ(moved.of("pretranslation.updates"), stayed.of("pretranslation.updates") + stale);
      EXPECT_EQ(moved.of("pretranslation.corrected") + walked, stale);
      EXPECT_LT(walked, pages / 10);
      EXPECT_EQ(moved.of("loads"), stayed.of("loads"));
    }
  }
}

TEST(PretranslationOnCores, MarksChangeNothingOnAMachineWithoutIt) {
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    const Ran plain = run(kind, {}, false);
    const Ran marked = run(kind, {}, true);
    EXPECT_EQ(plain.time, marked.time);
    EXPECT_EQ(plain.counters, marked.counters);
  }
}

TEST(PretranslationOnCores, AProbeBringsTheEntryOfAPointerThatACacheHas) {
  // Each node is loaded twice: the second load finds it in L1, and is the marked one.
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    for (const bool probes : {false, true}) {
      Overrides overrides = on;
      overrides.insert(
          overrides.end(),
          {{"cpu.page", "4096"}, {"cpu.pretranslation.on_cache_hit", probes ? "probe" : "none"}});
      const Settings settings = sim::testing::quiet_optane(overrides);
      Machine memory(settings);
      Scattered map(3);
      Socket socket(memory, core_of(settings, memory.capacity()), 1);
      const CoreMachine usual(kind);
      Cores cores(socket, usual.core, map);
      cores.add();
      Block block;
      block.instructions = {mov_load({.destinations = {0}, .address = {0}})};
      const std::uint64_t node = first_page * Tlb::small_page;
      const std::vector<Access> plain{{.address = node, .size = 8}};
      std::vector<Access> marked = plain;
      marked.push_back({.address = node + 5 * Tlb::small_page, .pointer = true});
      cores.feed(0, block, plain);
      EXPECT_TRUE(cores.catch_up(0));
      for (int i = 0; i < 2; ++i) {
        cores.feed(0, block, marked);
        EXPECT_TRUE(cores.catch_up(0));
        // What the caches tell the DIMM arrives.
        const Tick end = socket.now() + Tick(10'000'000);
        while (socket.now() < end) socket.step(end);
      }
      Counters counters;
      socket.caches().register_counters(counters);
      memory.register_counters(counters);
      std::map<std::string, std::uint64_t> all;
      for (const auto& [name, value] : counters.read()) all[name] = value;
      EXPECT_EQ(all.at("pretranslation.cached"), probes ? 2u : 0u);
      EXPECT_EQ(all.at("pretranslation.probes"), probes ? 2u : 0u);
      // The first finds nothing, has the page walked to, and tells; then the TLB knows it.
      EXPECT_EQ(all.at("pretranslation.updates"), probes ? 1u : 0u);
      EXPECT_EQ(all.at("pretranslation.entries"), probes ? 1u : 0u);
      EXPECT_EQ(all.at("channel.0.dimm.read_lines"), 1u);
    }
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

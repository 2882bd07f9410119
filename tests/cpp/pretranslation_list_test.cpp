#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "machine_fixture.h"
#include "scripted.h"
#include "sim/cpu/agent.h"
#include "sim/machine/sequence.h"
#include "sim/machine/tables.h"

/// A list of one pointer a page, over pages in random order that no TLB holds, walked by marked
/// loads: what Pre-translation saves against what it should by hand.
namespace nearfar::sim::cpu {
namespace test_file {

using sim::testing::Overrides;
using sim::testing::Scripted;

constexpr std::uint64_t pages = 2048;
/// More than the entries of a page table that lie in a line, so that each walk reads a line of its
/// own; and odd, so that the pages go round all sets of the DIMM's translation buffer, which holds
/// them.
constexpr std::uint64_t pages_apart = 9;
constexpr std::uint64_t rounds = 4;  ///< the first is not measured
constexpr double walk = 81;  ///< ns: one read of the page table, which no cache has
constexpr double out = 31;
constexpr double back = 31;
constexpr double entry_on_bus = 0.75;

/// Caches and TLBs that hold next to nothing, so that every hop is a page walk and a read of
/// memory.
Settings machine(const Overrides& overrides) {
  Settings settings = sim::testing::quiet_optane({{"cpu.page", "4096"},
                                                  {"cpu.l1.size", "4096"},
                                                  {"cpu.l2.size", "16384"},
                                                  {"cpu.l3.size", "67584"},
                                                  {"cpu.l3.slices", "3"},
                                                  {"cpu.tlb.l2.entries", "384"},
                                                  {"cpu.tlb.directory", "64"}});
  sim::testing::apply(settings, overrides);
  return settings;
}

struct List {
  std::uint64_t marked_percent = 100;
  Tick work{};  ///< between a load and the next
};

/// The list, walked `rounds` times. Every node has its pointer at a place of its own in its page.
std::vector<Step> walk_of(const List& list) {
  Rng rng(5);
  std::vector<std::uint64_t> order(pages);
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = pages; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<Address> nodes;
  std::vector<bool> marked;
  for (const std::uint64_t page : order) {
    nodes.emplace_back((page * pages_apart + 1) * Tlb::small_page + rng.below(512) * 8);
    marked.push_back(rng.below(100) < list.marked_percent);
  }
  std::vector<Step> steps;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < pages; ++i) {
      Step step;
      step.kind = Step::Kind::load;
      step.waits = step.feeds = true;
      step.address = nodes[i];
      if (marked[i]) step.leads_to = nodes[(i + 1) % pages];
      steps.push_back(step);
      if (list.work == Tick{}) continue;
      Step work;
      work.kind = Step::Kind::delay;
      work.waits = true;
      work.span = list.work;
      steps.push_back(work);
    }
  }
  return steps;
}

struct Walked {
  Walked(const Overrides& overrides, const List& list = {}) {
    const Settings settings = machine(overrides);
    Machine memory(settings);
    Agent agent(memory, core_of(settings, memory.capacity()), 1);
    std::vector<std::unique_ptr<Program>> programs;
    programs.push_back(std::make_unique<Scripted>(walk_of(list)));
    const Agent::Measured measured = agent.run(std::move(programs), {.warm_lines = pages});
    ns = static_cast<double>(measured.elapsed.ps()) / 1000 / static_cast<double>(measured.lines);
    Counters registered;
    agent.caches()->register_counters(registered);
    memory.register_counters(registered);
    for (const auto& [name, value] : registered.read()) counters[name] = value;
  }
  [[nodiscard]] std::uint64_t of(const std::string& name) const { return counters.at(name); }

  double ns = 0;  ///< a hop
  std::map<std::string, std::uint64_t> counters;
};

Overrides with(Overrides more = {}) {
  more.emplace_back("nvdimm.pretranslation.enabled", "true");
  return more;
}

/// To 3 %.
void expect_saved(double without, double with, double saved) {
  EXPECT_NEAR(without - with, saved, 0.03 * saved) << without << " ns without, " << with;
}

TEST(PretranslatedList, WithoutPretranslationEveryHopWalksAndMarksChangeNothing) {
  const Walked marked({});
  const Walked plain({}, {.marked_percent = 0});
  EXPECT_EQ(marked.of("tlb.walks"), rounds * pages);
  EXPECT_EQ(marked.ns, plain.ns);
  EXPECT_FALSE(marked.counters.contains("pretranslation.used"));
}

TEST(PretranslatedList, TlbMissesFallByThePointersThatTheTableHas) {
  for (const std::uint64_t percent : {100u, 50u, 20u, 0u}) {
    const List list{.marked_percent = percent};
    const Walked without({}, list);
    const Walked walked(with(), list);
    const std::uint64_t marked = walked.of("pretranslation.marked") / rounds;
    // The first round finds the table empty.
    const auto expected = static_cast<double>((rounds - 1) * marked);
    const auto fallen = static_cast<double>(without.of("tlb.walks") - walked.of("tlb.walks"));
    EXPECT_NEAR(fallen, expected, 0.01 * expected) << percent;
    EXPECT_EQ(walked.of("pretranslation.updates"), marked) << percent;
    EXPECT_EQ(walked.of("pretranslation.stale"), 0u) << percent;
  }
}

TEST(PretranslatedList, ATableOfFewerPagesThanTheListServesNothingWhenTheOldestGoes) {
  // Each page comes back when all others have been there: whatever is least recently used is next.
  const Walked half(with({{"nvdimm.pretranslation.table", std::to_string(pages / 2 * 64)}}));
  EXPECT_EQ(half.of("tlb.walks"), rounds * pages);
  EXPECT_GE(half.of("channel.0.dimm.pretranslation.parts.lost"), (rounds - 1) * pages);
  // The first round learns; its last pointer serves the first load of the next.
  const Walked all(with({{"nvdimm.pretranslation.table", std::to_string(pages * 64)}}));
  EXPECT_EQ(all.of("tlb.walks"), pages + 1);
}

TEST(PretranslatedList, WithTheCheckABareHopHidesTheWayToTheReadPendingQueue) {
  for (const char* starts : {"use", "arrival"}) {
    const Walked without({});
    const Walked walked(with({{"cpu.pretranslation.walk_starts", starts}}));
    expect_saved(without.ns, walked.ns, std::min(walk, out) - entry_on_bus);
  }
}

TEST(PretranslatedList, WithTheCheckABareHopHidesAWalkThatIsShorterThanThatWay) {
  const Overrides near_tables{{"cpu.table.latency", "20000"}};
  const Walked without(near_tables);
  const Walked walked(with(near_tables));
  expect_saved(without.ns, walked.ns, 20 - entry_on_bus);
}

TEST(PretranslatedList, AWalkThatStartsAtArrivalIsHiddenByWorkToo) {
  const List list{.work = Tick(20'000)};
  const Walked without({}, list);
  const Walked use(with({{"cpu.pretranslation.walk_starts", "use"}}), list);
  expect_saved(without.ns, use.ns, out - entry_on_bus);
  const Walked arrival(with({{"cpu.pretranslation.walk_starts", "arrival"}}), list);
  expect_saved(without.ns, arrival.ns, std::min(walk, 20 + out) - entry_on_bus);
}

TEST(PretranslatedList, AWalkThatEndsBeforeTheNextLoadLeavesNothingOfTheMiss) {
  const List list{.work = Tick(200'000)};
  const Walked without({}, list);
  const Walked walked(with(), list);
  // The load finds its page in the first-level TLB.
  expect_saved(without.ns, walked.ns, walk + 3.2 - entry_on_bus);
  EXPECT_EQ(walked.of("pretranslation.used"), 0u);
}

TEST(PretranslatedList, SpeculationHidesTheWholeWalkOrTheWholeRead) {
  const Overrides speculate{{"cpu.pretranslation.speculate", "true"}};
  const Walked without({});
  const Walked walked(with(speculate));
  expect_saved(without.ns, walked.ns, walk - entry_on_bus);

  const double read = without.ns - walk - 3.2;
  ASSERT_LT(read, 900);
  Overrides far_tables{{"cpu.table.latency", "900000"}};
  const Walked far_without(far_tables);
  far_tables.insert(far_tables.end(), speculate.begin(), speculate.end());
  const Walked far(with(far_tables));
  // What the entry costs on the bus is hidden with the read.
  expect_saved(far_without.ns, far.ns, read);
}

TEST(PretranslatedList, TheMarkedLoadsOfASequenceLeadToWhereTheNextOnesRead) {
  const auto played = [](Sequence::Kind kind) {
    Sequence sequence;
    sequence.core = true;
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t page = 1; page <= pages; ++page) {
        const Bytes at = (page * 77 % pages + 1) * pages_apart * Tlb::small_page + 16;
        sequence.steps.push_back(Sequence::pack(kind, at));
      }
    }
    return play(machine(with()), sequence);
  };
  const SequenceTimes marked = played(Sequence::Kind::marked_load);
  const SequenceTimes plain = played(Sequence::Kind::cached_load);
  std::map<std::string, std::uint64_t> counters;
  for (const auto& [name, value] : marked.counters) counters[name] = value;
  EXPECT_EQ(counters.at("channel.0.dimm.pretranslation.updates"), pages);
  EXPECT_EQ(counters.at("channel.0.dimm.pretranslation.reads"), 2 * pages - 1);
  EXPECT_LT(marked.elapsed, plain.elapsed);
}

TEST(PretranslatedList, ALookUpThatIsSlowerThanTheDataHoldsThemUp) {
  // Two nodes to a media block, one after the other: the second finds its line in the RMW buffer.
  const Walked slow(with({{"nvdimm.pretranslation.rlb.latency", "1000000"}}));
  const Walked fast(with({{"nvdimm.pretranslation.rlb.latency", "0"}}));
  EXPECT_GT(slow.ns, fast.ns + 500);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

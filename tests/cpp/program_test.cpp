#include "frontend/program.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "machine_fixture.h"
#include "near_fixture.h"
#include "policy/registry.h"

/// A program as the plug-in feeds it, on whole machines.
namespace nearfar::frontend {
namespace test_file {

using sim::cpu::Access;
using sim::cpu::Block;
using sim::cpu::Instruction;
using sim::cpu::InstructionKind;

constexpr std::uint64_t base = std::uint64_t{1} << 40;

Block block_of(InstructionKind kind, bool depends) {
  Instruction instruction;
  instruction.kind = kind;
  instruction.latency = 0;
  if (depends) {
    instruction.destinations[0] = 1;
    instruction.address_sources[0] = 1;
  }
  return {.pc = 0x1000, .instructions = {instruction}};
}

std::map<std::string, std::string> report_of(Program& program) {
  std::stringstream text;
  program.report(text);
  std::map<std::string, std::string> values;
  for (std::string line; std::getline(text, line);) {
    const std::size_t at = line.find(" = ");
    EXPECT_NE(at, std::string::npos) << line;
    EXPECT_TRUE(values.emplace(line.substr(0, at), line.substr(at + 3)).second) << line;
  }
  return values;
}

std::uint64_t number(const std::map<std::string, std::string>& values, const std::string& name) {
  return std::stoull(values.at(name));
}

TEST(Program, AProgramShowsAPointerChaseTheLatenciesOfTheModel) {
  const Settings settings = sim::testing::quiet_optane();
  const struct {
    std::uint64_t bytes;
    const char* key;
  } levels[] = {{16 << 10, "cpu.l1.latency"}, {256 << 10, "cpu.l2.latency"}};
  for (const auto& level : levels) {
    Program::Options options;
    options.huge_pages = true;
    Program program(settings, options);
    const auto thread = program.thread_started();
    program.mapped(Address(base), 4 << 20, Mapping::memory);
    const Block load = block_of(InstructionKind::load, true);
    const auto round = [&] {
      for (std::uint64_t at = 0; at < level.bytes; at += line_bytes) {
        const Access access{.address = base + at, .size = 8};
        program.run(thread, load, {&access, 1});
      }
      return program.now(thread);
    };
    round();
    round();
    const Tick begin = round();
    const double each =
        static_cast<double>((round() - begin).ps()) / static_cast<double>(level.bytes / line_bytes);
    const auto expected = static_cast<double>(settings.time(level.key).ps());
    EXPECT_NEAR(each, expected, 0.01 * expected) << level.key;
  }
}

TEST(Program, AProgramReportsItsCountsAndTimes) {
  Program program(sim::testing::optane(), {});
  const auto thread = program.thread_started();
  program.mapped(Address(base), 1 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, false);
  for (std::uint64_t at = 0; at < 1 << 20; at += line_bytes) {
    const Access access{.address = base + at, .size = 8};
    program.run(thread, load, {&access, 1});
  }
  const auto values = report_of(program);
  EXPECT_EQ(number(values, "core.instructions"), 16384u);
  EXPECT_EQ(number(values, "core.loads"), 16384u);
  EXPECT_EQ(number(values, "cache.misses"), 16384u);
  EXPECT_EQ(number(values, "cache.tlb.walks"), 256u);
  EXPECT_EQ(number(values, "pages.touched"), 256u);
  EXPECT_EQ(number(values, "pages.placed"), 256u);
  EXPECT_EQ(values.at("page." + std::to_string(base)), "far small memory 64 0");
  EXPECT_EQ(number(values, "load_latency.count"), 16384u);
  EXPECT_EQ(number(values, "memory.far.channel.0.reads"), 16384u);
  std::uint64_t stack = 0;
  for (const auto& [name, value] : values) {
    if (name.starts_with("core.stack.")) stack += std::stoull(value);
  }
  EXPECT_NEAR(static_cast<double>(stack), static_cast<double>(number(values, "core.busy_ps")), 10);
}

TEST(Program, AProgramReportsARegionOfInterestAlone) {
  Program program(sim::testing::optane(), {});
  const auto thread = program.thread_started();
  program.mapped(Address(base), 1 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, false);
  const auto touch = [&](std::uint64_t lines) {
    for (std::uint64_t i = 0; i < lines; ++i) {
      const Access access{.address = base + i * line_bytes, .size = 8};
      program.run(thread, load, {&access, 1});
    }
  };
  touch(1000);
  program.roi_begin();
  touch(1200);
  program.roi_end();
  touch(5000);
  const auto values = report_of(program);
  EXPECT_EQ(number(values, "core.instructions"), 1200u);
  EXPECT_EQ(number(values, "cache.misses"), 200u);
  EXPECT_EQ(number(values, "memory.far.channel.0.reads"), 200u);
}

TEST(Program, AThreadThatWaitedForMemoryAtTheEndOfARegionGoesOnBehindIt) {
  Program program(sim::testing::optane(), {});
  const auto waits = program.thread_started();
  const auto other = program.thread_started();
  program.came_back(other, Tick(20'000'000));
  program.mapped(Address(base), 4 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, true);
  constexpr std::uint64_t loads = 1000;  // more than a window holds
  for (std::uint64_t i = 0; i < loads; ++i) {
    const Access access{.address = base + i * 4096, .size = 8};
    program.run(waits, load, {&access, 1});
  }
  program.roi_end();
  program.left(other);
  EXPECT_GT(program.now(waits), Tick(loads * 100'000));  // no line is nearer than that
}

TEST(Program, AProgramChargesARegionOfInterestTheEnergyOfItsOwnTime) {
  Program program(sim::testing::optane(), {});
  const auto thread = program.thread_started();
  program.mapped(Address(base), 1 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, true);
  const auto touch = [&](std::uint64_t lines) {
    for (std::uint64_t i = 0; i < lines; ++i) {
      const Access access{.address = base + i * line_bytes, .size = 8};
      program.run(thread, load, {&access, 1});
    }
  };
  touch(10);
  // A long time in which no thread accesses memory.
  program.wait(thread, Tick(20'000'000'000));
  program.roi_begin();
  touch(200);
  program.roi_end();
  const auto values = report_of(program);
  const std::uint64_t region_ps = number(values, "time_ps");
  const std::uint64_t memory_ps = number(values, "memory.far.time_ps");
  EXPECT_GE(memory_ps, region_ps);
  EXPECT_LT(memory_ps, region_ps + 1'000'000) << "no more than threads may be apart";
}

/// Optane with 1 MiB of near DRAM beside it.
Settings tiers() {
  Settings settings = sim::testing::near_optane();
  settings.set("near.kind", "tier");
  settings.set("near.capacity", std::to_string(1 << 20));
  return settings;
}

std::map<std::string, std::string> skewed(const std::string& place) {
  Settings settings = tiers();
  settings.set("run.place", place);
  settings.set("run.near", std::to_string(32 * 4096));
  settings.set("run.interval", "300000000");
  // Small caches: what is hot has to come from memory.
  settings.set("cpu.l2.size", "65536");
  settings.set("cpu.l3.size", "90112");
  settings.set("cpu.l3.slices", "1");
  settings.set("cpu.l3.ways", "11");
  Program program(settings, Program::Options::from(settings));
  const auto thread = program.thread_started();
  program.mapped(Address(base), 1 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, true);
  Rng rng(3);
  // Cold pages first, so that the first pages are not the hot ones.
  for (std::uint64_t page = 0; page < 256; ++page) {
    const Access access{.address = base + page * 4096, .size = 8};
    program.run(thread, load, {&access, 1});
  }
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t page = rng.below(10) < 9 ? 224 + rng.below(32) : rng.below(256);
    const Access access{.address = base + page * 4096 + rng.below(64) * 64, .size = 8};
    program.run(thread, load, {&access, 1});
  }
  return report_of(program);
}

TEST(Program, AProgramIsFasterWithAPolicyThatKeepsHotPagesNear) {
  const auto still = skewed("flat:static");
  const auto exchanged = skewed("oracle:hot-cold");
  const auto far = skewed("far");
  const auto near = skewed("near");
  EXPECT_EQ(number(still, "moved.pages"), 0u);
  EXPECT_GT(number(exchanged, "moved.pages"), 40u);
  // Every page that moved was read and written, line by line.
  EXPECT_EQ(number(exchanged, "moved.lines"), 64 * number(exchanged, "moved.pages"));
  EXPECT_LT(number(near, "time_ps"), number(far, "time_ps"));
  EXPECT_LT(number(exchanged, "time_ps"), number(still, "time_ps"));
  EXPECT_LT(number(still, "time_ps"), number(far, "time_ps"));
}

/// Random reads and writes of 64 pages, one after the other, with the placement `place`.
std::map<std::string, std::string> scattered(const std::string& place, int accesses,
                                             std::uint64_t near_pages = 4) {
  Settings settings = tiers();
  settings.set("run.place", place);
  settings.set("run.near", std::to_string(near_pages * 4096));
  // Small caches, so that most accesses reach memory.
  settings.set("cpu.l2.size", "65536");
  settings.set("cpu.l3.size", "90112");
  settings.set("cpu.l3.slices", "1");
  settings.set("cpu.l3.ways", "11");
  Program program(settings, Program::Options::from(settings));
  const auto thread = program.thread_started();
  program.mapped(Address(base), 1 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, true);
  const Block store = block_of(InstructionKind::store, true);
  Rng rng(5);
  for (int i = 0; i < accesses; ++i) {
    const Access access{.address = base + rng.below(64) * 4096 + rng.below(64) * 64,
                        .size = 8,
                        .store = rng.below(3) == 0};
    program.run(thread, access.store ? store : load, {&access, 1});
  }
  return report_of(program);
}

TEST(Program, AProgramQueuesNoMoreMovesThanADecisionMakesHoweverLongAPolicyThrashes) {
  const auto some = scattered("oracle:fifo", 2000);
  const auto many = scattered("oracle:fifo", 8000);
  EXPECT_GT(number(many, "moved.pages"), 3 * number(some, "moved.pages"));
  EXPECT_EQ(number(many, "moved.lines"), 64 * number(many, "moved.pages"));
  // Twice as many pages as near memory holds; and a pair for each line that was on its way to
  // memory when that was reached: of stores that have retired, misses of L1 and L2, write-backs.
  const Settings settings = tiers();
  std::uint64_t lines = 0;
  for (const char* key : {"cpu.store_queue", "cpu.l1.mshrs", "cpu.l2.mshrs", "cpu.writebacks"}) {
    lines += settings.count(key);
  }
  const std::uint64_t room = std::uint64_t{2 * 4} * 4096;
  const std::uint64_t on_their_way = std::uint64_t{2 * 4096} * lines;
  EXPECT_GT(number(many, "moved.most_waiting_bytes"), room);
  EXPECT_LE(number(many, "moved.most_waiting_bytes"), room + on_their_way);
  // The program waits, and that is its time.
  EXPECT_GT(number(many, "moved.held_blocks"), 0u);
  EXPECT_GT(number(many, "core.stack.paging_ps"), number(many, "core.busy_ps") / 2);
}

/// What near memory holds, as a list of pages: the one that came first is in front.
struct PlainCache {
  std::uint64_t frames;
  std::vector<std::uint64_t> resident{};
  std::map<std::uint64_t, bool> dirty{};  // of every page that ever came
  std::uint64_t hits = 0, first_touches = 0, copies_in = 0, copies_out = 0, clean_drops = 0;

  void access(std::uint64_t page, bool write) {
    if (std::find(resident.begin(), resident.end(), page) != resident.end()) {
      ++hits;
    } else {
      if (resident.size() == frames) {
        ++(dirty[resident.front()] ? copies_out : clean_drops);
        resident.erase(resident.begin());
      }
      ++(dirty.contains(page) ? copies_in : first_touches);
      dirty[page] = false;
      resident.push_back(page);
    }
    if (write) dirty[page] = true;
  }
};

TEST(Program, AProgramCachesFarPagesInNearMemoryAsAPlainReferenceDoes) {
  for (const std::uint64_t near_pages : {1, 4, 40, 100}) {
    PlainCache cache{.frames = near_pages};
    Rng rng(5);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t page = rng.below(64);
      rng.below(64);
      cache.access(page, rng.below(3) == 0);
    }
    const auto values = scattered("cached:fifo", 3000, near_pages);
    EXPECT_EQ(number(values, "cached.hits"), cache.hits);
    EXPECT_EQ(number(values, "cached.faults"), cache.first_touches + cache.copies_in);
    EXPECT_EQ(number(values, "cached.first_touches"), cache.first_touches);
    EXPECT_EQ(number(values, "cached.copies_in"), cache.copies_in);
    EXPECT_EQ(number(values, "cached.copies_out"), cache.copies_out);
    EXPECT_EQ(number(values, "cached.clean_drops"), cache.clean_drops);
    // What came in and did not leave is there.
    EXPECT_EQ(number(values, "cached.resident_pages"),
              cache.first_touches + cache.copies_in - cache.copies_out - cache.clean_drops);
    EXPECT_LE(number(values, "cached.resident_pages"), near_pages);
    EXPECT_EQ(number(values, "near.used_bytes"), 4096 * number(values, "cached.resident_pages"));
    EXPECT_EQ(number(values, "moved.pages"), cache.copies_in + cache.copies_out);
    EXPECT_EQ(number(values, "moved.lines"), 64 * (cache.copies_in + cache.copies_out));
    // The time of the copies is the program's, and the parts of its time are all of it.
    EXPECT_EQ(number(values, "core.stack.paging_ps") != 0, cache.copies_in + cache.copies_out != 0);
    std::uint64_t stack = 0;
    for (const auto& [name, value] : values) {
      if (name.starts_with("core.stack.")) stack += std::stoull(value);
    }
    EXPECT_NEAR(static_cast<double>(stack), static_cast<double>(number(values, "core.busy_ps")),
                10);
  }
}

TEST(Program, AProgramPlaysEveryReplacementPolicyAndIsFasterTheMoreNearMemoryThereIs) {
  for (const policy::ReplacementEntry& entry : policy::replacements()) {
    const std::string place = "cached:" + std::string(entry.name);
    const auto few = scattered(place, 2000, 4);
    const auto half = scattered(place, 2000, 32);
    const auto all = scattered(place, 2000, 64);
    EXPECT_GT(number(few, "time_ps"), number(half, "time_ps")) << place;
    EXPECT_GT(number(half, "time_ps"), number(all, "time_ps")) << place;
    EXPECT_EQ(number(all, "cached.copies_in"), 0u) << place;
    EXPECT_EQ(number(all, "cached.hits") + number(all, "cached.faults"), 2000u) << place;
  }
}

TEST(Program, AProgramReportsTheFaultsOfARegionOfInterestAlone) {
  Settings settings = tiers();
  settings.set("run.place", "cached:fifo");
  settings.set("run.near", std::to_string(4 * 4096));
  Program program(settings, Program::Options::from(settings));
  const auto thread = program.thread_started();
  program.mapped(Address(base), 1 << 20, Mapping::memory);
  const Block load = block_of(InstructionKind::load, true);
  const auto touch = [&](std::uint64_t page) {
    const Access access{.address = base + page * 4096, .size = 8};
    program.run(thread, load, {&access, 1});
  };
  for (std::uint64_t page = 0; page < 8; ++page) touch(page);
  program.roi_begin();
  touch(7);
  touch(0);
  program.roi_end();
  for (std::uint64_t page = 0; page < 8; ++page) touch(page);
  const auto values = report_of(program);
  EXPECT_EQ(number(values, "cached.hits"), 1u);
  EXPECT_EQ(number(values, "cached.faults"), 1u);
  EXPECT_EQ(number(values, "cached.copies_in"), 1u);
  EXPECT_EQ(number(values, "moved.pages"), 1u);
}

TEST(Program, AProgramRefusesAPlacementThatTheModelHasNoMemoryFor) {
  Settings settings = sim::testing::optane();
  for (const char* place : {"near", "interleave", "oracle:lru", "oracle:lruu", "cached:fifo",
                            "flat:static", "somewhere", "policy:lru"}) {
    settings.set("run.place", place);
    EXPECT_THROW(Program(settings, Program::Options::from(settings)), InputError) << place;
  }
  Settings two = tiers();
  for (const char* place : {"oracle:lruu", "oracle:static", "cached:lru", "flat:fifo", "cached:"}) {
    two.set("run.place", place);
    EXPECT_THROW(Program(two, Program::Options::from(two)), InputError) << place;
  }
  // Near memory holds no page of that size.
  two.set("run.place", "oracle:lru");
  two.set("run.pages", "huge");
  EXPECT_THROW(Program(two, Program::Options::from(two)), InputError);
  two = tiers();
  two.set("run.place", "near");
  two.set("run.near", std::to_string(2 << 20));
  EXPECT_THROW(Program(two, Program::Options::from(two)), InputError);
}

}  // namespace test_file
}  // namespace nearfar::frontend

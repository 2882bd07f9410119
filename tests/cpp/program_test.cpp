#include "frontend/program.h"

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "machine_fixture.h"
#include "near_fixture.h"

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
  const auto still = skewed("policy:static");
  const auto exchanged = skewed("policy:hot-cold");
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

TEST(Program, AProgramRefusesAPlacementThatTheModelHasNoMemoryFor) {
  Settings settings = sim::testing::optane();
  for (const char* place : {"near", "interleave", "policy:lru", "policy:lruu", "somewhere"}) {
    settings.set("run.place", place);
    EXPECT_THROW(Program(settings, Program::Options::from(settings)), InputError) << place;
  }
  Settings two = tiers();
  two.set("run.place", "policy:lruu");
  EXPECT_THROW(Program(two, Program::Options::from(two)), InputError);
  // Near memory holds no page of that size.
  two.set("run.place", "policy:lru");
  two.set("run.pages", "huge");
  EXPECT_THROW(Program(two, Program::Options::from(two)), InputError);
  two = tiers();
  two.set("run.place", "near");
  two.set("run.near", std::to_string(2 << 20));
  EXPECT_THROW(Program(two, Program::Options::from(two)), InputError);
}

}  // namespace test_file
}  // namespace nearfar::frontend

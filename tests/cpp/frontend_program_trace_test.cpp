// Traces of version 2: what a program executed, recorded on one machine and executed again on
// another.

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "frontend/program_trace.h"
#include "frontend/program_trace_reader.h"
#include "machine_fixture.h"
#include "trace/reader.h"
#include "trace/varint.h"

namespace nearfar::frontend {
namespace test_file {

using sim::cpu::Access;
using sim::cpu::Block;
using sim::cpu::InstructionKind;

constexpr Tick period(455);
constexpr std::uint64_t heap = std::uint64_t{1} << 40;
constexpr std::uint64_t page = 4096;

Settings machine_settings(bool pretranslates, const std::string& core = "window") {
  Settings settings =
      sim::testing::optane({{"cpu.page", "4096"},
                            {"cpu.l1.size", "4096"},
                            {"cpu.l2.size", "16384"},
                            {"cpu.l3.size", "67584"},
                            {"cpu.l3.slices", "3"},
                            {"cpu.tlb.l2.entries", "96"},
                            {"cpu.core.kind", core},
                            {"nvdimm.pretranslation.enabled", pretranslates ? "true" : "false"}});
  settings.set("run.place", "far");
  settings.set("run.pages", "small");
  return settings;
}

std::string report_of(Engine& engine) {
  std::ostringstream out;
  engine.report(out);
  return out.str();
}

std::uint64_t counter(const std::string& report, const std::string& name) {
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    const std::string start = "machine." + name + " = ";
    if (line.starts_with(start)) return std::stoull(line.substr(start.size()));
  }
  ADD_FAILURE() << name << " is not reported";
  return 0;
}

/// A program that calls an engine as the plug-in does: two threads that follow marked pointers from
/// page to page and store, memory that is mapped, moved and unmapped, waits, and a region.
class Script {
 public:
  explicit Script(std::uint64_t seed) : rng_(seed) {}

  void play(Engine& engine) {
    engine.mapped(Address(heap), pages * page, Mapping::memory);
    engine.mapped(Address(heap - 64 * page), page, Mapping::stack);
    engine.add_thread(Tick(1000));
    steps(engine, 0, 300);
    engine.add_thread(engine.now(0));
    engine.skip(1, 5000);
    engine.begin_region();
    for (int turn = 0; turn < 20; ++turn) {
      steps(engine, 0, 40);
      steps(engine, 1, 40);
      if (turn == 5)
        engine.remapped(Address(heap), 8 * page, Address(heap + pages * page), 16 * page);
      if (turn == 9) engine.unmapped(Address(heap + 20 * page), 4 * page);
      if (turn == 12) {
        engine.leave(1);
        engine.come_back(1, engine.now(1) + Tick(2'000'000));
      }
    }
    engine.flush_range(0, Address(heap + 30 * page), page);
    engine.end_thread(1);
    steps(engine, 0, 40);
    engine.end_region();
    steps(engine, 0, 40);
    engine.flush_trace();
  }

 private:
  static constexpr std::uint64_t pages = 256;

  void steps(Engine& engine, Engine::Thread thread, int count) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t from = heap + rng_.below(pages) * page + 8 * rng_.below(512);
      const std::uint64_t to = heap + rng_.below(pages) * page;
      engine.run(
          thread, chase_,
          std::vector<Access>{{.address = from, .size = 8},
                              {.address = to, .pointer = true},
                              {.address = to + 8, .size = 8, .instruction = 1, .store = true}});
    }
  }

  static sim::cpu::Instruction made(InstructionKind kind, sim::cpu::Register to) {
    sim::cpu::Instruction one{.kind = kind};
    one.destinations[0] = to;
    one.address_sources[0] = 0;
    return one;
  }

  Rng rng_;
  Block chase_{.pc = 0x1000,
               .next = 0x1008,
               .instructions = {made(InstructionKind::load, 0), made(InstructionKind::store, 255)}};
};

struct Recorded {
  std::string trace;
  std::string report;
};

Recorded record(const Settings& settings, std::uint64_t seed = 1) {
  Recorded out;
  std::uint64_t events = 0;
  Script script(seed);  // whose blocks stay while the engine does
  const auto engine = make_recording_engine(make_program_engine(settings, period, nullptr),
                                            {.timing = {.clock_ps = period.ps()},
                                             .command = "script",
                                             .layout = {.place = "far", .pages = "small"}},
                                            [&](std::string_view piece, std::uint64_t count) {
                                              out.trace += piece;
                                              events = count;
                                            });
  script.play(*engine);
  out.report = report_of(*engine);
  out.trace += static_cast<char>(ProgramEvent::end);
  trace::append_varint(out.trace, events);
  return out;
}

struct Replayed {
  std::string report;
  ProgramTraceReader::Counts counts;
};

Replayed replay(const std::string& trace, const Settings& settings,
                const std::function<std::size_t(std::size_t left)>& piece) {
  ProgramTraceReader reader("t.nft", [&](const trace::Header& header) {
    EXPECT_EQ(header.layout.place, "far");
    return make_program_engine(settings, period, nullptr);
  });
  for (std::size_t at = 0; at < trace.size();) {
    const std::size_t bytes = std::min(piece(trace.size() - at), trace.size() - at);
    reader.feed(std::string_view(trace).substr(at, bytes));
    at += bytes;
  }
  reader.finish();
  return {report_of(*reader.engine()), reader.counts()};
}

Replayed replay(const std::string& trace, const Settings& settings) {
  return replay(trace, settings, [](std::size_t left) { return left; });
}

TEST(ProgramTrace, OnTheRecordedMachineEveryFigureIsThatOfTheRecordedRun) {
  for (const char* core : {"window", "simple"}) {
    const Settings settings = machine_settings(true, core);
    const Recorded run = record(settings);
    const Replayed again = replay(run.trace, settings);
    EXPECT_EQ(again.report, run.report) << core;
    EXPECT_GT(counter(run.report, "cache.pretranslation.marked"), 1000u);
    EXPECT_GT(counter(run.report, "cache.pretranslation.updates"), 10u);
    EXPECT_GT(again.counts.of(ProgramEvent::frame), 200u);
    EXPECT_EQ(again.counts.frames_as_recorded, again.counts.of(ProgramEvent::frame));
  }
}

TEST(ProgramTrace, HoldsMarksAndMappingsWhateverMachineRecordedIt) {
  const Recorded plain = record(machine_settings(false));
  const Recorded marked = record(machine_settings(true));
  const Replayed across = replay(plain.trace, machine_settings(true));
  EXPECT_EQ(across.counts.marked_loads, 300u + 20 * 80 + 80);
  EXPECT_EQ(across.counts.loads, across.counts.marked_loads);
  EXPECT_EQ(across.counts.stores, across.counts.marked_loads);
  EXPECT_EQ(across.counts.of(ProgramEvent::maps), 2u);
  EXPECT_EQ(across.counts.of(ProgramEvent::unmaps), 1u);
  EXPECT_EQ(across.counts.of(ProgramEvent::remaps), 1u);
  // Threads take the recorded turns, so that all that does not depend on time is the same.
  for (const char* name : {"cache.pretranslation.marked", "core.instructions", "core.loads"}) {
    EXPECT_EQ(counter(across.report, name), counter(marked.report, name)) << name;
  }
}

TEST(ProgramTrace, ReadsTheSameInPiecesCutAnywhere) {
  const Settings settings = machine_settings(true);
  const Recorded run = record(settings);
  Rng rng(5);
  const Replayed again =
      replay(run.trace, settings, [&](std::size_t) { return 1 + rng.below(40); });
  EXPECT_EQ(again.report, run.report);
}

std::string refusal(const std::string& trace) {
  try {
    replay(trace, machine_settings(true));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(ProgramTrace, OneThatWasCutOffIsRefused) {
  const std::string trace = record(machine_settings(false)).trace;
  const std::string said = refusal(trace.substr(0, trace.size() - 40));
  EXPECT_NE(said.find("expected that of the trace: it was cut off"), std::string::npos) << said;
  EXPECT_NE(refusal(trace + "x").find("data after the end"), std::string::npos);
  EXPECT_NE(refusal(trace.substr(0, 20)).find("in the header"), std::string::npos);
}

TEST(ProgramTrace, OfDamagedBytesTheWorstThatComesIsALine) {
  const std::string whole = record(machine_settings(false)).trace;
  const std::size_t body = whole.find('\n') + 1;
  Rng rng(11);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string trace = whole;
    for (int change = 0; change < 3; ++change) {
      trace[body + rng.below(4000)] = static_cast<char>(rng.below(256));
    }
    const std::string said = refusal(trace);
    refused += said.empty() ? 0 : 1;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  EXPECT_GT(refused, 100);
}

/// A trace of a thread that executes one block of these instructions with these accesses.
std::string trace_of(const Block& block, const std::vector<Access>& accesses) {
  std::string trace;
  const auto engine =
      make_recording_engine(make_counting_engine(period, Tick{}),
                            {.timing = {.clock_ps = period.ps()}, .layout = {.place = "far"}},
                            [&](std::string_view piece, std::uint64_t) { trace += piece; });
  engine->add_thread(Tick{});
  engine->run(0, block, accesses);
  engine->flush_trace();
  return trace;
}

TEST(ProgramTrace, ABlockThatNoProcessorCouldExecuteIsRefused) {
  const sim::cpu::Instruction load{.kind = InstructionKind::load};
  const Block plain{.pc = 0x1000, .next = 0x1010, .instructions = {load, load}};
  const sim::cpu::Instruction endless{.kind = InstructionKind::load, .uops = 200};
  const Block wide{.pc = 0x1000, .next = 0x1010, .instructions = {endless, load}};
  const Access first{.address = heap, .size = 8};
  const Access second{.address = heap, .size = 8, .instruction = 1};
  const Access leads{.address = heap, .pointer = true};
  const auto damaged = [](const Block& block, const std::vector<Access>& accesses) {
    return refusal(trace_of(block, accesses)).find("no event") != std::string::npos;
  };
  EXPECT_FALSE(damaged(plain, {first, leads, second}));
  const Access large{.address = heap, .size = 0xffff};
  EXPECT_FALSE(damaged(plain, {large}));
  EXPECT_TRUE(damaged(plain, std::vector<Access>(100, large)));
  EXPECT_TRUE(damaged(wide, {first}));
  EXPECT_TRUE(damaged(plain, {second, first}));
  EXPECT_TRUE(damaged(plain, {leads}));
  EXPECT_TRUE(damaged(plain, {first, leads, leads}));
}

/// What a machine says that a thread has executed an instruction of that kind on.
std::string report_of(InstructionKind kind, const Access& access) {
  const Block block{.pc = 0x1000, .next = 0x1010, .instructions = {{.kind = kind}}};
  const auto engine = make_program_engine(machine_settings(false), period, nullptr);
  engine->add_thread(Tick{});
  engine->run(0, block, std::vector<Access>{access});
  engine->now(0);
  return report_of(*engine);
}

TEST(ProgramEngine, AccessesThatNoProcessorMakesArePlayed) {
  const Access wide{.address = heap, .size = 65535};
  Access stored = wide;
  stored.store = true;
  EXPECT_EQ(counter(report_of(InstructionKind::locked, wide), "core.loads"), 1024u);
  EXPECT_EQ(counter(report_of(InstructionKind::locked, stored), "core.stores"), 1024u);
  const Access nothing{.address = 0, .size = 0, .store = true};
  EXPECT_EQ(counter(report_of(InstructionKind::store, nothing), "core.stores"), 1u);
}

TEST(ProgramEngine, ATimeThatCoresCannotCountIsRefused) {
  const auto engine = make_program_engine(machine_settings(false), period, nullptr);
  engine->add_thread(Tick{});
  EXPECT_THROW(for (int i = 0; i < 40; ++i) engine->skip(0, most_skipped), InputError);
  EXPECT_THROW(engine->come_back(0, latest + Tick(1)), InputError);
}

TEST(ProgramEngine, WhatWasNeverTouchedIsNotFlushed) {
  const auto engine = make_program_engine(machine_settings(false), period, nullptr);
  const Block block{
      .pc = 0x1000, .next = 0x1010, .instructions = {{.kind = InstructionKind::store}}};
  constexpr Bytes mapped = Bytes{64} << 20;
  engine->mapped(Address(heap), mapped, Mapping::persistent);
  engine->add_thread(Tick{});
  engine->run(0, block,
              std::vector<Access>{{.address = heap + 5 * page, .size = 8, .store = true}});
  engine->flush_range(0, Address(heap + 64), mapped - 64);
  engine->now(0);
  EXPECT_EQ(counter(report_of(*engine), "core.flushes"), page / 64);
}

TEST(ProgramTrace, HoldsAFlushHoweverLong) {
  Recorded run;
  std::uint64_t events = 0;
  const auto engine =
      make_recording_engine(make_counting_engine(period, Tick{}),
                            {.timing = {.clock_ps = period.ps()}, .layout = {.place = "far"}},
                            [&](std::string_view piece, std::uint64_t count) {
                              run.trace += piece;
                              events = count;
                            });
  engine->add_thread(Tick{});
  engine->flush_range(0, Address(heap), 2 * most_flushed + 1);
  engine->flush_trace();
  run.trace += static_cast<char>(ProgramEvent::end);
  trace::append_varint(run.trace, events);
  EXPECT_EQ(replay(run.trace, machine_settings(false)).counts.of(ProgramEvent::flushes), 3u);
}

TEST(ProgramTrace, AReaderOfAccessesRefusesItInOneLine) {
  const std::string trace = record(machine_settings(false)).trace;
  const auto reader = trace::make_reader("t.nft", "auto");
  std::vector<trace::Record> records;
  std::string said;
  try {
    reader->feed(trace, records);
  } catch (const InputError& error) {
    said = error.what();
  }
  EXPECT_EQ(said,
            "t.nft: found a program's instructions (version 2), expected accesses of memory; "
            "`nearfar replay TARGET t.nft` plays it");
}

}  // namespace test_file
}  // namespace nearfar::frontend

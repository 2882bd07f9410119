#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/archive.h"
#include "base/error.h"
#include "machine_fixture.h"
#include "sim/cpu/config.h"

/// Reads that wait in the controller for the translation that they were made by to be checked, and
/// marked reads, as the memory sees them.
namespace nearfar::sim {
namespace test_file {

using testing::Overrides;

constexpr std::uint64_t nothing = ~std::uint64_t{0};

struct Memory {
  explicit Memory(Overrides overrides = {}) : machine(settings_of(std::move(overrides))) {}

  static Settings settings_of(Overrides overrides) {
    overrides.emplace_back("nvdimm.pretranslation.enabled", "true");
    return testing::quiet_optane(overrides);
  }
  static Request read(std::uint64_t id, Bytes address, pretranslation::Marks marks = 0,
                      std::uint8_t offset = 0) {
    return {.id = id,
            .address = Address(address),
            .port = port_of(0, Op::read),
            .marks = marks,
            .pointer_offset = offset};
  }
  /// When the read `id` is done, playing no further than `until`; and the entry that came with it.
  std::optional<Tick> done(std::uint64_t id, Tick until = Tick(1'000'000'000)) {
    Sink sink;
    machine.advance(until, sink);
    std::optional<Tick> at;
    for (const Completion& completion : sink) {
      if (completion.id != id) continue;
      if (completion.kind == Completion::Kind::entry) frame = completion.data;
      if (completion.kind == Completion::Kind::done) at = completion.time;
    }
    return at;
  }
  std::uint64_t of(const std::string& name) {
    Counters counters;
    machine.register_counters(counters);
    for (const auto& [counter, value] : counters.read()) {
      if (counter == "channel.0." + name) return value;
    }
    return nothing;
  }

  Machine machine;
  std::uint64_t frame = nothing;
};

constexpr pretranslation::Marks uncertain = pretranslation::uncertain;
constexpr pretranslation::Marks pointer = pretranslation::pointer;

/// When a plain read is done that begins then: the DRAM on the DIMM has a clock.
Tick plain_read(Tick begin) {
  Memory memory;
  EXPECT_TRUE(memory.machine.try_send(Memory::read(1, 0), begin).accepted);
  return *memory.done(1);
}

TEST(UncertainRead, GoesToTheDimmWhenItsTranslationIsKnownToBeRight) {
  Memory memory;
  const Request request = Memory::read(1, 0, uncertain);
  ASSERT_TRUE(memory.machine.try_send(request, Tick(0)).accepted);
  const Tick later(700'000);
  EXPECT_FALSE(memory.done(1, later));
  EXPECT_EQ(memory.of("dimm.read_lines"), 0u);
  memory.machine.resolve(request, true, later);
  EXPECT_EQ(memory.done(1), plain_read(later));
  EXPECT_TRUE(memory.machine.idle());
}

TEST(UncertainRead, NeverCompletesWhenItsTranslationWasWrong) {
  Memory memory;
  const Request request = Memory::read(1, 0, uncertain);
  ASSERT_TRUE(memory.machine.try_send(request, Tick(0)).accepted);
  memory.machine.resolve(request, false, Tick(1000));
  EXPECT_FALSE(memory.done(1));
  EXPECT_EQ(memory.of("dimm.read_lines"), 0u);
  EXPECT_TRUE(memory.machine.idle());
}

TEST(UncertainRead, TakesAPlaceOfTheReadPendingQueueUntilItIsGivenUp) {
  Memory memory(Overrides{{"imc.rpq.lines", "2"}});
  const Request first = Memory::read(1, 0, uncertain);
  const Request second = Memory::read(2, 4096, uncertain);
  ASSERT_TRUE(memory.machine.try_send(first, Tick(0)).accepted);
  ASSERT_TRUE(memory.machine.try_send(second, Tick(0)).accepted);
  Request third = Memory::read(3, 8192);
  ASSERT_FALSE(memory.machine.try_send(third, Tick(0)).accepted);
  memory.machine.resolve(first, false, Tick(1000));
  Sink sink;
  memory.machine.advance(Tick(1000), sink);
  ASSERT_EQ(sink.size(), 1u);
  EXPECT_EQ(sink[0].kind, Completion::Kind::wake);
  EXPECT_TRUE(memory.machine.try_send(third, Tick(1000)).accepted);
  EXPECT_TRUE(memory.done(3));
}

TEST(UncertainRead, FindsWhatWasWrittenWhileItWaited) {
  Memory memory;
  const Request request = Memory::read(1, 0, uncertain);
  ASSERT_TRUE(memory.machine.try_send(request, Tick(0)).accepted);
  ASSERT_TRUE(memory.machine
                  .try_send({.id = 2,
                             .address = Address(0),
                             .op = Op::write,
                             .port = port_of(0, Op::write),
                             .data = 77},
                            Tick(100))
                  .accepted);
  memory.machine.resolve(request, true, Tick(200));
  Sink sink;
  memory.machine.advance(Tick(1'000'000'000), sink);
  DataHandle data = 0;
  for (const Completion& completion : sink) {
    if (completion.id == 1) data = completion.data;
  }
  EXPECT_EQ(data, 77u);
}

TEST(MarkedRead, BringsTheFrameThatTheProcessorToldOfItsPointerAndNoOther) {
  Memory memory;
  memory.machine.learn(Address(4096 + 24), 1234, Tick(0));
  EXPECT_FALSE(memory.done(0, Tick(1'000'000)));
  ASSERT_TRUE(
      memory.machine.try_send(Memory::read(1, 4096, pointer, 24), Tick(1'000'000)).accepted);
  EXPECT_TRUE(memory.done(1));
  EXPECT_EQ(memory.frame, 1234u);
  memory.frame = nothing;
  const Tick now(1'000'000'000);
  ASSERT_TRUE(memory.machine.try_send(Memory::read(2, 4096, pointer, 32), now).accepted);
  EXPECT_TRUE(memory.done(2, now + now));
  EXPECT_EQ(memory.frame, nothing);
}

TEST(MarkedRead, TakesTheTimeOfAnEntryOnTheBusAndNoneWithoutOne) {
  Memory with;
  with.machine.learn(Address(24), 5, Tick(0));
  static_cast<void>(with.done(0, Tick(1'000'000)));
  ASSERT_TRUE(with.machine.try_send(Memory::read(1, 0, pointer, 24), Tick(1'000'000)).accepted);
  EXPECT_EQ(with.done(1), plain_read(Tick(1'000'000)) + Tick(750));
  Memory without;
  ASSERT_TRUE(without.machine.try_send(Memory::read(1, 0, pointer, 24), Tick(0)).accepted);
  EXPECT_EQ(without.done(1), plain_read(Tick(0)));
}

TEST(MarkedRead, OfTheEntryAloneBringsNoLine) {
  Memory memory;
  memory.machine.learn(Address(24), 5, Tick(0));
  static_cast<void>(memory.done(0, Tick(1'000'000)));
  const pretranslation::Marks entry = pointer | pretranslation::entry_only;
  ASSERT_TRUE(memory.machine.try_send(Memory::read(1, 0, entry, 24), Tick(1'000'000)).accepted);
  const auto at = memory.done(1);
  ASSERT_TRUE(at);
  EXPECT_EQ(memory.frame, 5u);
  EXPECT_EQ(memory.of("dimm.read_lines"), 0u);
  // To the DIMM, the look-up, the grant, the entry.
  EXPECT_EQ(*at, Tick(1'000'000 + 10'000 + 2'000 + 20'000 + 750));
}

TEST(MarkedRead, FindsInTheTableWhatHasLeftTheBufferBeforeIt) {
  Memory memory(Overrides{{"nvdimm.pretranslation.rlb.size", "8"}});
  for (std::uint64_t i = 0; i < 4; ++i) {
    memory.machine.learn(Address(i * 4096), 100 + i, Tick(i));
  }
  static_cast<void>(memory.done(0, Tick(1'000'000)));
  EXPECT_EQ(memory.of("dimm.pretranslation.table.writes"), 3u);
  Tick now(1'000'000);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(memory.machine.try_send(Memory::read(i, i * 4096, pointer, 0), now).accepted);
    const auto at = memory.done(i, now + Tick(1'000'000));
    ASSERT_TRUE(at);
    EXPECT_EQ(memory.frame, 100 + i);
    now += Tick(1'000'000);
  }
  EXPECT_GE(memory.of("dimm.pretranslation.table.hits"), 3u);
}

/// What is told after an instant of a run.
std::string told(Machine& machine, Tick until) {
  Sink sink;
  machine.advance(until, sink);
  std::string all;
  for (const Completion& one : sink) {
    all += std::to_string(one.time.ps()) + " " + std::to_string(one.id) + " " +
           std::to_string(static_cast<int>(one.kind)) + " " + std::to_string(one.data) + "\n";
  }
  return all;
}

TEST(MarkedRead, AMemoryThatIsSavedAndRestoredGoesOnAsItWould) {
  const Overrides small{{"nvdimm.pretranslation.rlb.size", "32"},
                        {"nvdimm.pretranslation.table", "1024"}};
  Memory memory(small);
  for (std::uint64_t i = 0; i < 24; ++i) {
    memory.machine.learn(Address(i * 4096 + 8), 100 + i, Tick(1000 * i));
  }
  static_cast<void>(told(memory.machine, Tick(1'000'000)));
  for (std::uint64_t i = 0; i < 24; ++i) {
    ASSERT_TRUE(
        memory.machine.try_send(Memory::read(i, i * 4096, pointer, 8), Tick(1'000'000)).accepted);
  }
  const Request waits = Memory::read(24, 0, uncertain);
  ASSERT_TRUE(memory.machine.try_send(waits, Tick(1'000'000)).accepted);
  memory.machine.learn(Address(16), 7, Tick(1'500'000));
  // Look-ups are under way by now.
  static_cast<void>(told(memory.machine, Tick(1'100'000)));
  Archive saved;
  memory.machine.state(saved);
  Memory restored(small);
  Archive read(saved.written());
  restored.machine.state(read);
  EXPECT_TRUE(read.all_read());
  for (Memory* one : {&memory, &restored}) {
    one->machine.resolve(waits, true, Tick(1'200'000));
  }
  const std::string expected = told(memory.machine, Tick(100'000'000));
  EXPECT_EQ(told(restored.machine, Tick(100'000'000)), expected);
  // All 25 reads, and entries for some.
  EXPECT_GT(std::count(expected.begin(), expected.end(), '\n'), 25);
  EXPECT_EQ(restored.of("dimm.pretranslation.table.writes"),
            memory.of("dimm.pretranslation.table.writes"));
}

TEST(PretranslationMachine, WhatMayStandBeforeNoDimmWithItIsNamed) {
  Settings settings = Memory::settings_of({});
  settings.set("near.kind", "cache");
  try {
    static_cast<void>(cpu::Config::from(settings));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "model: nvdimm.pretranslation.enabled is true and near.kind is 'cache', of which "
              "Pre-translation knows nothing; expected near.kind = \"none\"");
  }
}

}  // namespace test_file
}  // namespace nearfar::sim

#include "sim/cpu/cores.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core_fixture.h"
#include "random_program.h"

/// Several threads before one L3, and what their times may depend on.
namespace nearfar::sim::cpu {
namespace test_file {

using testing::alu;
using testing::Code;
using testing::CoreMachine;
using testing::instruction;
using testing::mov_load;
using testing::mov_store;
using testing::random_program;
using Kind = InstructionKind;

struct Played {
  std::vector<Tick> clocks;
  std::vector<MockDevice::Entry> entries;
  std::vector<std::array<Fine, causes>> stacks;
  friend bool operator==(const Played&, const Played&) = default;
};

/// Plays a program a thread; `feeder` says how much of it is fed at a time, and to which thread.
Played play(const std::vector<std::vector<Code>>& programs, CoreConfig::Kind kind,
            std::uint64_t feeder, Tick quantum = Tick(1'000'000)) {
  CoreMachine machine(kind);
  machine.core.quantum = quantum;
  machine.pages.huge = false;
  Cores& cores = machine.cores();
  Rng rng(feeder);
  std::vector<std::size_t> at(programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) cores.add();
  for (std::size_t left = programs.size(); left > 0;) {
    const auto thread = static_cast<Cores::Thread>(rng.below(programs.size()));
    const auto& program = programs[thread];
    if (at[thread] == program.size()) continue;
    if (cores.ahead(thread)) cores.play();
    for (std::uint64_t n = 1 + rng.below(50); n > 0 && !cores.ahead(thread); --n) {
      const Code& code = program[at[thread]++];
      cores.feed(thread, code.block, code.accesses);
      if (rng.below(3) == 0) cores.play();
      if (at[thread] < program.size()) continue;
      cores.leave(thread);
      --left;
      break;
    }
  }
  cores.play();
  Played played;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto thread = static_cast<Cores::Thread>(i);
    cores.catch_up(thread);
    played.clocks.push_back(cores.clock(thread));
    played.stacks.push_back(machine.counts(thread).stack);
  }
  EXPECT_FALSE(machine.device.time_went_back());
  played.entries = machine.device.entries();
  return played;
}

TEST(Cores, CoresDoNotDependOnHowAThreadIsFed) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
      const std::vector<std::vector<Code>> program{random_program(seed, 400)};
      EXPECT_EQ(play(program, kind, 1), play(program, kind, 2)) << seed;
    }
  }
}

TEST(Cores, CoresDoNotDependOnWhichThreadIsFedFirst) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<std::vector<Code>> programs;
    for (std::uint64_t i = 0; i < 3; ++i) programs.push_back(random_program(seed * 10 + i, 200));
    const Played first = play(programs, CoreConfig::Kind::window, 1);
    EXPECT_EQ(first, play(programs, CoreConfig::Kind::window, 2)) << seed;
    EXPECT_EQ(first, play(programs, CoreConfig::Kind::window, 3)) << seed;
  }
}

TEST(Cores, CoresDoNotDependOnTheQuantum) {
  std::vector<std::vector<Code>> programs;
  for (std::uint64_t i = 0; i < 3; ++i) programs.push_back(random_program(90 + i, 200));
  const Played first = play(programs, CoreConfig::Kind::window, 1, Tick(10'000));
  EXPECT_EQ(first, play(programs, CoreConfig::Kind::window, 1, Tick(1'000'000)));
  EXPECT_EQ(first, play(programs, CoreConfig::Kind::window, 1, Tick(100'000'000)));
}

TEST(Cores, CoresAccountForAllTheirTime) {
  const std::vector<std::vector<Code>> program{random_program(4, 500)};
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    const Played played = play(program, kind, 1);
    Fine sum = 0;
    for (const Fine part : played.stacks[0]) sum += part;
    EXPECT_LE(coarse(sum), played.clocks[0]);
    EXPECT_GT(coarse(sum), Tick(played.clocks[0].ps() * 99 / 100));
  }
}

TEST(Cores, CoresCountNoTimeThatAThreadSpendsElsewhere) {
  for (const auto kind : {CoreConfig::Kind::window, CoreConfig::Kind::simple}) {
    CoreMachine machine(kind);
    machine.cores().add();
    Code code;
    code.add(alu({.sources = {1}, .destinations = {1}}));
    machine.repeat(code, 1000);
    const Tick slept(1'000'000'000);
    machine.cores().come_back(0, machine.finish() + slept);
    machine.repeat(code, 1000);
    const Tick end = machine.finish();
    Fine busy = 0;
    for (const Fine part : machine.counts().stack) busy += part;
    EXPECT_GT(end, slept);
    EXPECT_NEAR(static_cast<double>(coarse(busy).ps()), static_cast<double>((end - slept).ps()),
                2000);
  }
}

/// One thread for as long as the others, which come one after the other.
struct Shift {
  std::size_t cores = 0;
  std::vector<Tick> clocks;
  std::vector<std::uint64_t> instructions;
  std::vector<std::array<Fine, causes>> stacks;
  friend bool operator==(const Shift&, const Shift&) = default;
};

Shift play_in_turn(std::size_t threads, std::uint64_t feeder) {
  CoreMachine machine;
  machine.pages.huge = false;
  Cores& cores = machine.cores();
  Rng rng(feeder);
  const std::vector<Code> first = random_program(1, 60 * threads);
  const std::vector<std::vector<Code>> others = {random_program(2, 60), random_program(3, 60)};
  const auto feed = [&](Cores::Thread thread, const Code& code) {
    cores.feed(thread, code.block, code.accesses);
    if (rng.below(3) == 0) cores.play();
  };
  cores.add();
  std::size_t at = 0;
  for (std::size_t n = 1; n < threads; ++n) {
    // All begin and end in this order; what is fed in between comes in any.
    const Cores::Thread thread = cores.add(Tick(n * 20'000'000));
    for (const Code& code : others[n % 2]) {
      while (at < 60 * n && rng.below(2) == 0) feed(0, first[at++]);
      feed(thread, code);
    }
    cores.end(thread);
    while (at < 60 * n) feed(0, first[at++]);
  }
  cores.leave(0);
  cores.play();
  Shift told;
  told.cores = cores.cores();
  for (Cores::Thread thread = 0; thread < threads; ++thread) {
    EXPECT_TRUE(cores.catch_up(thread));
    told.clocks.push_back(cores.clock(thread));
    told.instructions.push_back(cores.counts(thread).instructions);
    told.stacks.push_back(cores.counts(thread).stack);
  }
  return told;
}

TEST(Cores, CoresAreTakenAgainWhenTheirThreadsHaveEnded) {
  const Shift told = play_in_turn(40, 1);
  EXPECT_EQ(told.cores, 2u);
  std::uint64_t instructions = 0;
  for (const Code& code : random_program(3, 60)) instructions += code.block.instructions.size();
  for (std::size_t thread = 1; thread < 40; thread += 2) {
    EXPECT_EQ(told.instructions[thread], instructions);
    EXPECT_GT(told.clocks[thread], Tick(thread * 20'000'000));
  }
}

TEST(Cores, CoresThatAreTakenAgainDoNotDependOnHowTheirThreadsAreFed) {
  const Shift told = play_in_turn(12, 1);
  EXPECT_EQ(told, play_in_turn(12, 2));
  EXPECT_EQ(told, play_in_turn(12, 3));
}

TEST(Cores, CoresHoldAThreadThatIsAQuantumAhead) {
  CoreMachine machine;
  machine.cores().add();
  machine.cores().add();
  Code code;
  code.add(alu({}));
  // One is played, while the other thread is no further; and 1 us waits, 4 in 500 ps.
  machine.repeat(code, 8001);
  machine.cores().play();
  EXPECT_FALSE(machine.cores().ahead(0));
  machine.repeat(code, 1);
  machine.cores().play();
  EXPECT_TRUE(machine.cores().ahead(0));
  EXPECT_EQ(machine.counts(0).instructions, 1u);
  // The other one waits in the kernel: the first does not wait for it.
  machine.cores().leave(1);
  machine.cores().play();
  EXPECT_FALSE(machine.cores().ahead(0));
  EXPECT_EQ(machine.counts(0).instructions, 8002u);
}

TEST(Cores, CoresLetAThreadSpinUntilAnotherHasWritten) {
  CoreMachine machine;
  Cores& cores = machine.cores();
  cores.add();
  cores.add();
  Code spin;
  spin.add(mov_load({.destinations = {1}, .address = {2}})).access(0, false);
  Code work;
  work.add(alu({.sources = {1}, .destinations = {1}}, 20));
  Code write;
  write.add(mov_store({.sources = {1}, .address = {2}})).access(0, true);
  // As programs run that are executed while they are simulated: a thread that is ahead is held.
  int left = 10'000;
  std::uint64_t spins = 0;
  while (left > 0) {
    if (!cores.ahead(1) && --left > 0) {
      cores.feed(1, work.block, work.accesses);
    }
    if (left == 0) cores.feed(1, write.block, write.accesses);
    for (int n = 0; n < 100 && !cores.ahead(0); ++n, ++spins) {
      cores.feed(0, spin.block, spin.accesses);
    }
    cores.play();
  }
  cores.leave(1);
  cores.leave(0);
  cores.play();
  const Tick wrote = machine.finish(1);
  const Tick saw = machine.finish(0);
  // It spun for as long as the other worked, give or take what each may be ahead: a quantum, or a
  // hundred instructions of 10 ns and those that the reorder buffer holds.
  const Tick ahead = machine.core.quantum + (100 + machine.core.rob) * Tick(10'000);
  EXPECT_GT(wrote, Tick(9'999 * 10'000));
  EXPECT_LT(wrote, saw + ahead);
  EXPECT_LT(saw, wrote + ahead);
  EXPECT_GT(spins, 50'000u);
}

TEST(Cores, CoresPassALineThatBothWriteFromOneToTheOther) {
  CoreMachine machine;
  Cores& cores = machine.cores();
  for (int i = 0; i < 2; ++i) {
    cores.add();
    cores.leave(static_cast<Cores::Thread>(i));
  }
  Code load;
  load.add(mov_load({.destinations = {1}, .address = {1}})).access(0, false);
  Code store;
  store.add(mov_store({.sources = {1}, .address = {2}})).access(0, true);
  store.add(instruction(Kind::full_fence, 1));
  Tick at{};
  const auto take = [&](Cores::Thread thread, const Code& code) {
    cores.come_back(thread, at);
    cores.leave(thread);
    cores.feed(thread, code.block, code.accesses);
    const Tick begin = at;
    at = machine.finish(thread);
    return at - begin;
  };
  const Tick asking = machine.config.caches.l3.latency;
  const Tick few_cycles(5 * 500);
  for (int round = 0; round < 10; ++round) {
    for (Cores::Thread thread = 0; thread < 2; ++thread) {
      const Tick loaded = take(thread, load);
      const Tick stored = take(thread, store) - machine.config.mfence;
      if (round == 0) continue;
      // The load finds it with the other core; the store asks that one to give it up.
      EXPECT_GE(loaded, asking);
      EXPECT_LT(loaded, asking + few_cycles);
      EXPECT_GE(stored, asking);
      EXPECT_LT(stored, asking + few_cycles);
    }
  }
  // A store to a line of one's own takes no asking.
  EXPECT_LT(take(1, store) - machine.config.mfence, few_cycles);
  EXPECT_EQ(machine.device.entries().size(), 1u);
}

/// Two threads that count, each in a word of its own.
Tick count_apart(std::uint64_t bytes_apart) {
  CoreMachine machine;
  Code add[2];
  for (std::uint64_t i = 0; i < 2; ++i) {
    machine.cores().add();
    add[i].add(instruction(Kind::locked, 18, {.sources = {1}, .destinations = {1}}, 4));
    add[i].access(i * bytes_apart, false).access(i * bytes_apart, true);
  }
  for (int n = 0; n < 500; ++n) {
    for (Cores::Thread i = 0; i < 2; ++i) {
      machine.cores().feed(i, add[i].block, add[i].accesses);
    }
  }
  for (Cores::Thread i = 0; i < 2; ++i) machine.cores().leave(i);
  machine.cores().play();
  return max(machine.finish(0), machine.finish(1));
}

TEST(Cores, CoresAreSlowOnWordsOfOneLineAndFastOnLinesOfTheirOwn) {
  const Tick shared = count_apart(8);
  const Tick apart = count_apart(64);
  EXPECT_GT(shared, apart + 500 * CoreMachine().config.caches.l3.latency);
  EXPECT_EQ(apart, count_apart(4096));
}

/// The time a load takes of threads that each chase through so many lines, in L3 for the most part.
double chase(std::size_t threads, std::uint64_t lines) {
  CoreMachine machine;
  Cores& cores = machine.cores();
  std::vector<std::vector<Code>> codes(threads);
  Rng rng(1);
  for (std::size_t thread = 0; thread < threads; ++thread) {
    cores.add();
    for (std::uint64_t n = 0; n < 4 * lines; ++n) {
      // 17 is odd, and the lines are a power of two: every line comes once a round.
      const std::uint64_t line = thread * lines + (n * 17 + n / lines) % lines;
      codes[thread].emplace_back().add(mov_load({.destinations = {1}, .address = {1}}));
      codes[thread].back().access(line * 64, false);
    }
  }
  const auto round = [&](std::size_t first, std::size_t last) {
    for (std::size_t thread = 0; thread < threads; ++thread) {
      for (std::size_t n = first; n < last; ++n) {
        const Code& code = codes[thread][n];
        cores.feed(static_cast<Cores::Thread>(thread), code.block, code.accesses);
      }
    }
    for (std::size_t thread = 0; thread < threads; ++thread) {
      cores.leave(static_cast<Cores::Thread>(thread));
    }
    return machine.finish();
  };
  const Tick begin = round(0, 2 * lines);
  return static_cast<double>((round(2 * lines, 4 * lines) - begin).ps()) /
         static_cast<double>(2 * lines);
}

TEST(Cores, CoresContendForTheL3TheyShare) {
  // 64 KiB each, of which L2 holds 16 and L3 66.
  const auto l3 = static_cast<double>(CoreMachine().config.caches.l3.latency.ps());
  const double alone = chase(1, 1024);
  EXPECT_LT(alone, 1.1 * l3);
  EXPECT_GT(chase(2, 1024), 2 * alone);
  // 32 KiB each are no trouble.
  EXPECT_LT(chase(2, 512), 1.1 * l3);
}

TEST(SimpleCore, ASimpleCoreTakesACycleAnInstructionAndItsMisses) {
  CoreMachine machine(CoreConfig::Kind::simple);
  machine.cores().add();
  std::vector<Code> codes(200);
  for (std::uint64_t i = 0; i < codes.size(); ++i) {
    for (int n = 0; n < 9; ++n) codes[i].add(alu({}, 3));
    codes[i].add(mov_load({.destinations = {1}})).access((i + 64) * 4096, false);
  }
  const Tick begin = machine.finish();
  for (const Code& code : codes) machine.cores().feed(0, code.block, code.accesses);
  const double each = static_cast<double>((machine.finish() - begin).ps()) / 200;
  const double expected = static_cast<double>(machine.miss().ps() + 10 * 500);
  EXPECT_NEAR(each, expected, 0.02 * expected);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

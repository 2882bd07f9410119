#include "frontend/mover.h"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core_fixture.h"
#include "frontend/page_gate.h"

/// Pages that are copied before a memory that takes 100 ns for everything.
namespace nearfar::frontend {
namespace test_file {

using sim::cpu::Block;
using sim::cpu::InstructionKind;
using sim::cpu::testing::CoreMachine;
using sim::cpu::testing::instruction;
using sim::cpu::testing::memory_latency;

constexpr Bytes page = Frames::small;
constexpr Address far(Bytes{1} << 20);

struct Moving {
  explicit Moving(Bytes room)
      : machine(), socket((machine.cores(), *machine.socket)), mover(socket, room) {
    mover.when_copied([this](Mover::Waiter waiter, Tick at) { done.emplace_back(waiter, at); });
  }
  void copy(std::uint64_t number, Mover::Waiter waiter = Mover::nobody, Tick at = Tick{}) {
    mover.copy({.from = far + number * page, .to = Address(number * page), .bytes = page}, at,
               waiter);
  }
  void finish() {
    while (socket.busy()) socket.step(Tick::never());
  }

  CoreMachine machine;
  sim::cpu::Socket& socket;
  Mover mover;
  std::vector<std::pair<Mover::Waiter, Tick>> done;
};

TEST(Mover, TheMoverReadsEveryLineOfAPageOnceAndWritesItThereAfterwards) {
  Moving moving(0);
  moving.copy(3);
  moving.finish();
  EXPECT_EQ(moving.mover.lines(), page / line_bytes);
  std::map<std::uint64_t, Tick> read;
  std::size_t written = 0;
  for (const auto& entry : moving.machine.device.entries()) {
    if (entry.op == sim::Op::read) {
      const std::uint64_t line = entry.address.value() - far.value();
      EXPECT_TRUE(read.emplace(line, entry.time).second);
    } else {
      ASSERT_TRUE(read.contains(entry.address.value()));
      EXPECT_GE(entry.time, read.at(entry.address.value()) + memory_latency);
      ++written;
    }
  }
  EXPECT_EQ(read.size(), page / line_bytes);
  EXPECT_EQ(written, page / line_bytes);
}

TEST(Mover, TheMoverHasAtMostThirtyTwoLinesOnTheirWay) {
  Moving moving(0);
  for (std::uint64_t number = 0; number < 20; ++number) moving.copy(number);
  moving.finish();
  EXPECT_EQ(moving.machine.device.most_in_use(), 32u);
}

TEST(Mover, TheMoverIsFullWhileMoreThanItsRoomWaitsToBeCopied) {
  Moving moving(2 * page);
  for (std::uint64_t number = 0; number < 2; ++number) moving.copy(number);
  EXPECT_FALSE(moving.mover.is_full());
  moving.copy(2);
  // 32 lines of the first are on their way, and no longer wait.
  EXPECT_TRUE(moving.mover.is_full());
  EXPECT_EQ(moving.mover.most_waiting(), 3 * page - 32 * line_bytes);
  while (moving.mover.is_full()) ASSERT_TRUE(moving.socket.step(Tick::never()));
  EXPECT_EQ(moving.mover.room_since(), moving.socket.now());
  moving.finish();
  EXPECT_EQ(moving.mover.lines(), 3 * page / line_bytes);
}

TEST(Mover, TheMoverTellsAWaiterOnceWhenTheLastOfItsPagesIsThere) {
  Moving moving(0);
  moving.copy(0, 1);
  moving.copy(1);
  moving.copy(2, 1);
  moving.copy(3, 2);
  moving.finish();
  ASSERT_EQ(moving.done.size(), 2u);
  EXPECT_EQ(moving.done[0].first, 1u);
  EXPECT_EQ(moving.done[1].first, 2u);
  // Pages of 64 lines, 32 at a time, each read and then written.
  EXPECT_EQ(moving.done[0].second, Tick(3 * 4 * memory_latency.ps()));
  EXPECT_EQ(moving.done[1].second, Tick(4 * 4 * memory_latency.ps()));
}

TEST(Mover, TheMoverBeginsACopyNoEarlierThanItIsAskedFor) {
  Moving moving(0);
  moving.copy(0, 1, Tick(5'000'000));
  moving.finish();
  ASSERT_EQ(moving.done.size(), 1u);
  EXPECT_EQ(moving.done[0].second, Tick(5'000'000 + 4 * memory_latency.ps()));
}

/// Cores whose pages come from far memory into a near memory of so many pages.
struct Faulting {
  Faulting(policy::PageIndex near_pages, std::size_t threads,
           sim::cpu::CoreConfig::Kind kind = sim::cpu::CoreConfig::Kind::simple)
      : machine(kind),
        space(Frames(Address(0), near_pages * page), Frames(far, Bytes{1} << 24),
              {.place = Place::policy, .placer = make_cached("fifo", {.near_pages = near_pages})}),
        socket(machine.device, machine.config, 1),
        cores(socket, machine.core, space),
        mover(socket, 2 * page),
        gate(space, mover) {
    space.mapped(Address(base), Bytes{1} << 24, Mapping::memory);
    cores.hold_at(gate);
    for (std::size_t i = 0; i < threads; ++i) cores.add();
    load.instructions = {instruction(InstructionKind::load, 0, {{}, {1}, {1}})};
    store.instructions = {instruction(InstructionKind::store, 1)};
  }
  void touch(sim::cpu::Cores::Thread thread, std::uint64_t number, bool write = false,
             Bytes offset = 0) {
    const sim::cpu::Access access{
        .address = base + number * page + offset, .size = 8, .store = write};
    cores.feed(thread, write ? store : load, {&access, 1});
  }
  Tick finish(sim::cpu::Cores::Thread thread = 0) {
    EXPECT_TRUE(cores.catch_up(thread));
    return cores.clock(thread);
  }
  [[nodiscard]] Tick waited(sim::cpu::Cores::Thread thread = 0) const {
    return sim::cpu::coarse(
        cores.counts(thread).stack[static_cast<std::size_t>(sim::cpu::Cause::paging)]);
  }

  static constexpr std::uint64_t base = std::uint64_t{1} << 40;
  static constexpr Tick page_copy{4 * memory_latency.ps()};
  CoreMachine machine;
  AddressSpace space;
  sim::cpu::Socket socket;
  sim::cpu::Cores cores;
  Mover mover;
  PageGate gate;
  Block load{.pc = 0x1000, .instructions = {}};
  Block store{.pc = 0x2000, .instructions = {}};
};

TEST(PageGate, ACoreWaitsForAPageThatIsCopiedInAndForNothingElse) {
  for (const auto kind : {sim::cpu::CoreConfig::Kind::simple, sim::cpu::CoreConfig::Kind::window}) {
    Faulting program(2, 1, kind);
    // The slot in which the window core issues the access is no wait.
    const bool window = kind == sim::cpu::CoreConfig::Kind::window;
    const Tick expected = Faulting::page_copy - (window ? Tick(500 / 4) : Tick{});
    for (std::uint64_t number = 0; number < 3; ++number) program.touch(0, number);
    program.finish();
    // First touches copy nothing, and what leaves was not written.
    EXPECT_EQ(program.waited(), Tick{});
    program.touch(0, 0);
    program.finish();
    EXPECT_EQ(program.waited(), expected);
    program.touch(0, 0, false, 64);
    program.touch(0, 2);
    program.finish();
    EXPECT_EQ(program.waited(), expected);
    EXPECT_EQ(program.mover.lines(), page / line_bytes);
  }
}

TEST(PageGate, ACoreWaitsForAPageThatMustBeCopiedOutFirst) {
  Faulting program(1, 1);
  program.touch(0, 0, true);
  program.touch(0, 0, false, 64);  // behind which the store is done
  program.finish();
  program.touch(0, 1);
  program.finish();
  EXPECT_EQ(program.waited(), Faulting::page_copy);
  program.touch(0, 0);
  program.finish();
  EXPECT_EQ(program.waited(), Faulting::page_copy * 2);
  EXPECT_EQ(program.mover.lines(), 2 * page / line_bytes);
}

TEST(PageGate, OtherCoresWaitForAPageThatIsOnItsWay) {
  Faulting program(2, 2);
  program.cores.leave(1);
  for (std::uint64_t number = 0; number < 3; ++number) program.touch(0, number);
  program.finish();
  const Tick begin = program.cores.clock(0);
  program.cores.come_back(1, begin);
  program.touch(0, 0);
  program.touch(1, 0, false, 512);
  program.cores.leave(0);
  program.cores.leave(1);
  program.cores.play();
  program.finish(0);
  program.finish(1);
  // One of them faults, and the page is copied once.
  EXPECT_EQ(program.mover.lines(), page / line_bytes);
  EXPECT_GE(program.cores.clock(0), begin + Faulting::page_copy);
  EXPECT_GE(program.cores.clock(1), begin + Faulting::page_copy);
}

TEST(PageGate, AnAccessThatNeedsMorePagesThanFramesGoesOn) {
  Faulting program(1, 1);
  for (int i = 0; i < 10; ++i) program.touch(0, 0, true, page - 4);
  program.finish();
  EXPECT_EQ(program.cores.counts(0).instructions, 10u);
}

}  // namespace test_file
}  // namespace nearfar::frontend

// What a window core loads after a wrong guess, until that is known.

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "core_fixture.h"

namespace nearfar::sim::cpu::testing {
namespace test_file {

constexpr std::uint64_t row_at = 0x1000;
constexpr std::uint64_t body_at = 0x1040;

/// Rows that lie side by side, of which each leads to a line elsewhere; what that holds decides
/// whether the row has a body, at random.
class Rows {
 public:
  explicit Rows(int pointer_from = pointer, BlockEnd end = BlockEnd::conditional) {
    place(row_, row_at, body_at, end);
    place(body_, body_at, 0x1080, BlockEnd::jump);
    row_.add(mov_load({.destinations = {1}, .address = {pointer_from}}));
    row_.add(alu({.sources = {pointer}, .destinations = {pointer}}));
    row_.add(mov_load({.destinations = {3}, .address = {1}}));
    row_.add(alu({.sources = {3}, .destinations = {flags_register}}));
    row_.add(instruction(InstructionKind::branch, 1, {.sources = {flags_register}}));
    body_.add(alu({.sources = {3}, .destinations = {4}}));
    body_.add(instruction(InstructionKind::branch, 1));
  }

  void feed(Cores& cores, int rows, Cores::Thread thread = 0) {
    for (int i = 0; i < rows; ++i) {
      const std::uint64_t line = draw_() % (1U << 20U);
      cores.feed(thread, row_.block,
                 std::vector<Access>{
                     {.address = 0x10000 + (at_++ % 32) * 8, .size = 8, .instruction = first_},
                     {.address = 0x10000000 + line * line_bytes,
                      .size = 8,
                      .instruction = static_cast<std::uint16_t>(first_ + 2)}});
      if (draw_() % 2 != 0) cores.feed(thread, body_.block, {});
    }
  }

  /// Each row begins with a fence.
  Rows fenced() && {
    Code before;
    place(before, row_at, body_at, BlockEnd::conditional);
    before.add(instruction(InstructionKind::load_fence, 1));
    for (const Instruction& one : row_.block.instructions) before.add(one);
    row_ = before;
    first_ = 1;
    return std::move(*this);
  }

  static constexpr int pointer = 10;

 private:
  static void place(Code& code, std::uint64_t pc, std::uint64_t next, BlockEnd end) {
    code.block.pc = pc;
    code.block.next = next;
    code.block.target = row_at;
    code.block.end = end;
  }

  Code row_, body_;
  std::uint16_t first_ = 0;  ///< of the row, the load by its pointer
  std::uint64_t at_ = 0;
  std::mt19937_64 draw_{1};
};

struct Machine : CoreMachine {
  explicit Machine(bool wrong_path) {
    core.wrong_path = wrong_path;
    pages.tells = true;
  }
};

/// ns a row, once caches and predictor are warm.
double row_takes(Machine& machine, Rows rows) {
  machine.cores().add();
  rows.feed(machine.cores(), 500);
  const Tick begin = machine.finish();
  rows.feed(machine.cores(), 2000);
  return static_cast<double>((machine.finish() - begin).ps()) / 1000 / 2000;
}

TEST(WrongPath, RowsBehindAWrongGuessAreLoadedMeanwhile) {
  Machine stalls(false);
  Machine goes_on(true);
  const double without = row_takes(stalls, Rows());
  const double with = row_takes(goes_on, Rows());
  // Half of all rows are guessed wrong, and half of these have a body behind which the next row is.
  EXPECT_GT(without, 50);
  EXPECT_LT(with, 0.8 * without);
  EXPECT_GT(with, 0.2 * without);
  EXPECT_EQ(stalls.counts().wrong_path, 0U);
  EXPECT_GT(goes_on.counts().wrong_path, 250U);
}

TEST(WrongPath, NothingIsLoadedWhereAJumpCanGoAnywhere) {
  Machine stalls(false);
  Machine goes_on(true);
  EXPECT_EQ(row_takes(stalls, Rows(Rows::pointer, BlockEnd::indirect)),
            row_takes(goes_on, Rows(Rows::pointer, BlockEnd::indirect)));
  EXPECT_EQ(goes_on.counts().wrong_path, 0U);
}

TEST(WrongPath, NothingIsLoadedBehindAFence) {
  Machine stalls(false);
  Machine goes_on(true);
  const double with = row_takes(goes_on, Rows().fenced());
  EXPECT_EQ(row_takes(stalls, Rows().fenced()), with);
  EXPECT_GT(goes_on.counts().mispredicted, 500U);
  EXPECT_GT(with, 50);
}

TEST(WrongPath, NothingIsLoadedWhoseAddressDependsOnWhatIsWaitedFor) {
  Machine stalls(false);
  Machine goes_on(true);
  const double without = row_takes(stalls, Rows(3));
  EXPECT_NEAR(row_takes(goes_on, Rows(3)), without, 0.001 * without);
}

TEST(WrongPath, NothingIsLoadedFromPagesThatAreNotThere) {
  Machine stalls(false);
  Machine goes_on(true);
  goes_on.pages.tells = false;
  EXPECT_EQ(row_takes(stalls, Rows()), row_takes(goes_on, Rows()));
}

TEST(WrongPath, DoesNotDependOnHowAThreadIsFed) {
  const auto run = [](int rows_at_once, unsigned threads) {
    Machine made(true);
    std::vector<Rows> rows(threads);
    for (unsigned i = 0; i < threads; ++i) made.cores().add();
    for (int fed = 0; fed < 240; fed += rows_at_once) {
      for (unsigned i = 0; i < threads; ++i) rows[i].feed(made.cores(), rows_at_once, i);
      made.cores().play();
    }
    for (unsigned i = 0; i < threads; ++i) made.cores().end(i);
    return made.finish();
  };
  const Tick alone = run(1, 1);
  EXPECT_EQ(run(24, 1), alone);
  EXPECT_EQ(run(240, 1), alone);
  const Tick beside = run(1, 2);
  EXPECT_EQ(run(24, 2), beside);
  EXPECT_EQ(run(240, 2), beside);
}

TEST(WrongPath, AThreadThatWaitsForWhatComesIsFed) {
  Machine made(true);
  made.core.quantum = Tick(1);
  Rows rows;
  made.cores().add();
  made.cores().add();
  for (int i = 0; i < 200; ++i) {
    rows.feed(made.cores(), 1);
    made.cores().play();
    // The other thread has not begun: nothing of the first may be played, and it is held.
    if (made.cores().ahead(0)) break;
  }
  made.cores().leave(1);
  made.cores().play();
  EXPECT_FALSE(made.cores().ahead(0));
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu::testing

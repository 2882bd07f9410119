#include "sim/cpu/branch_predictor.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace nearfar::sim::cpu {
namespace test_file {

constexpr std::uint64_t a = 0x1000, b = 0x2000, c = 0x3000;

Block block(std::uint64_t pc, BlockEnd end, std::uint64_t target = 0) {
  return {.pc = pc, .next = pc + 0x40, .target = target, .end = end, .instructions = {}};
}

struct Guesses {
  BranchPredictor predictor{1024};

  /// How many of the blocks were not expected, when they are all played so many times.
  int wrong(const std::vector<Block>& blocks, int times = 1) {
    int count = 0;
    for (int i = 0; i < times; ++i) {
      for (const Block& one : blocks) count += predictor.follow(one) ? 0 : 1;
    }
    return count;
  }
};

TEST(BranchPredictor, ABranchPredictorExpectsTheTargetsThatTheCodeItselfTells) {
  Guesses guesses;
  guesses.wrong({block(a, BlockEnd::jump, b)});
  EXPECT_EQ(guesses.wrong({block(b, BlockEnd::next), block(b + 0x40, BlockEnd::call, c),
                           block(c, BlockEnd::back), block(b + 0x80, BlockEnd::conditional, a),
                           block(b + 0xc0, BlockEnd::next)}),
            0);
  // A jump that does not lead where it says: a signal came.
  guesses.wrong({block(a, BlockEnd::jump, b)});
  EXPECT_EQ(guesses.wrong({block(c, BlockEnd::next)}), 1);
}

TEST(BranchPredictor, ABranchPredictorFollowsNestedCallsBackToTheirCallers) {
  Guesses guesses;
  guesses.wrong({block(a, BlockEnd::jump, a)});
  // Two callers of one function that calls another by a register, which is always the same.
  const auto call_from = [&](std::uint64_t caller) {
    return std::vector<Block>{block(caller, BlockEnd::call, b), block(b, BlockEnd::indirect_call),
                              block(c, BlockEnd::back), block(b + 0x40, BlockEnd::back),
                              block(caller + 0x40, BlockEnd::jump, caller ^ 0x8000)};
  };
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    wrong += guesses.wrong(call_from(a)) + guesses.wrong(call_from(a ^ 0x8000));
  }
  EXPECT_LE(wrong, 4);
}

TEST(BranchPredictor, ABranchPredictorLearnsPatternsWithinItsHistory) {
  // A loop of nine rounds in a loop: only the length of the inner one tells when it ends.
  Guesses guesses;
  std::vector<Block> rounds(9, block(a, BlockEnd::conditional, a));
  rounds.push_back(block(a + 0x40, BlockEnd::jump, a));
  guesses.wrong(rounds, 200);
  EXPECT_EQ(guesses.wrong(rounds, 100), 0);
}

TEST(BranchPredictor, ABranchPredictorKeepsABiasBesideBranchesThatItCannotLearn) {
  // A coin decides the first condition; the second always holds, whatever the coin said.
  Guesses guesses;
  Rng coin(3);
  const auto play = [&](int times) {
    int first = 0, second = 0;
    for (int i = 0; i < times; ++i) {
      guesses.wrong({block(a, BlockEnd::conditional, b)});
      const std::uint64_t at = coin.below(2) == 0 ? a + 0x40 : b;
      first += guesses.wrong({block(at, BlockEnd::jump, c)});
      guesses.wrong({block(c, BlockEnd::conditional, a)});
      second += guesses.wrong({block(a, BlockEnd::jump, a)});
    }
    return std::pair{first, second};
  };
  play(2000);
  const auto [coin_wrong, bias_wrong] = play(2000);
  EXPECT_NEAR(coin_wrong, 1000, 150);
  EXPECT_LE(bias_wrong, 10);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

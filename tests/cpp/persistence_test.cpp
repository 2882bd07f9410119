#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "effort.h"
#include "machine_fixture.h"
#include "sim/machine/crash.h"
#include "sim/persistence/explore.h"

/// Two ways to find the states of a crash agree where both can answer, and what simulated runs
/// pass through is among them.
namespace nearfar::sim::testing {
namespace test_file {

using namespace persistence;

Program random_program(std::uint64_t seed, std::uint32_t threads, std::uint32_t length) {
  Rng rng(seed);
  const Kind choice[] = {Kind::store,  Kind::store,  Kind::store,      Kind::nt_store,
                         Kind::clwb,   Kind::sfence, Kind::clflushopt, Kind::clflush,
                         Kind::mfence, Kind::label,  Kind::exchange};
  std::vector<Operation> operations;
  std::uint64_t labels = 0;
  for (std::uint32_t i = 0; i < length; ++i) {
    Operation operation;
    operation.kind = choice[rng.below(std::size(choice))];
    operation.thread = static_cast<std::uint32_t>(rng.below(threads));
    operation.address = Address(64 * rng.below(3) + 8 * rng.below(2));
    operation.value = operation.kind == Kind::label ? labels++ : 1 + rng.below(3);
    operations.push_back(operation);
  }
  operations.push_back({Kind::store, threads - 1, Address(0), 4, 0});
  return {std::move(operations), {{Address(8), 9}}};
}

Question question_of(bool eadr) {
  Question question;
  question.eadr = eadr;
  question.max_states = 1'000'000;
  return question;
}

TEST(Persistence, BoxesAndInterleavingsGiveTheSameStates) {
  std::uint64_t states = 0;
  for (std::uint64_t seed = 0; seed < cases(2000); ++seed) {
    const Program program = random_program(seed, 1, 12);
    const Question question = question_of(seed % 4 == 0);
    ImageSet by_boxes;
    ImageSet by_interleavings;
    const Answer boxes = visit_one_thread(program, question, [&](const CrashState& state) {
      EXPECT_TRUE(by_boxes.add(fingerprint(program, state))) << "visited twice, seed " << seed;
    });
    const Answer interleavings = visit_threads(program, question, [&](const CrashState& state) {
      const Fingerprint print = fingerprint(program, state);
      EXPECT_TRUE(by_interleavings.add(print)) << "visited twice, seed " << seed;
      EXPECT_TRUE(by_boxes.has(print)) << "not found by boxes, seed " << seed;
    });
    ASSERT_EQ(boxes.states, interleavings.states) << "seed " << seed;
    ASSERT_GE(*boxes.combinations, static_cast<double>(boxes.states));
    states += boxes.states;
  }
  EXPECT_GT(states, cases(20'000));
}

TEST(Persistence, TheRulesAllowEveryStateThatRunsPassThrough) {
  std::uint64_t met = 0;
  std::uint64_t allowed = 0;
  for (std::uint64_t seed = 0; seed < cases(150); ++seed) {
    const auto threads = static_cast<std::uint32_t>(1 + seed % 3);
    const Program program = random_program(seed, threads, 10);
    const Question question = question_of(seed % 4 == 0);
    ImageSet states;
    allowed += visit_states(program, question, [&](const CrashState& state) {
                 states.add(fingerprint(program, state));
               }).states;
    met += visit_runs(random_optane(seed), program, question, 6, [&](const CrashState& state) {
      EXPECT_TRUE(states.has(fingerprint(program, state))) << "seed " << seed;
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(met, allowed / 10) << "runs see little of what is possible";
}

TEST(Persistence, RunsAreTheSameForTheSameSeed) {
  const Program program = random_program(5, 2, 12);
  std::vector<std::uint64_t> prints[2];
  for (auto& run : prints) {
    visit_runs(random_optane(3), program, question_of(false), 4,
               [&](const CrashState& state) { run.push_back(fingerprint(program, state).low); });
  }
  EXPECT_EQ(prints[0], prints[1]);
  EXPECT_GT(prints[0].size(), 4u);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

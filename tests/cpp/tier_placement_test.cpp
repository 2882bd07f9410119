// Where the pager's thread serves faults: what its trials find, and what they cost.

#include "tier/service/placement.h"

#include <gtest/gtest.h>

#include <utility>

#include "placement_program.h"

namespace nearfar::tier {
namespace test_file {

TEST(TierPlacement, AShortProgramHasNoTrial) {
  Program program(quick_to_wake);
  program.faults(Placement::faults_before);
  EXPECT_EQ(program.times(Where::anywhere), Placement::faults_before);
  program.faults(3 * part);
  EXPECT_GT(program.times(Where::beside), 0U);
  EXPECT_GT(program.times(Where::behind), 0U);
}

TEST(TierPlacement, UnlessItsFaultsTakeLong) {
  constexpr Times slowest_to_wake{500'000, 500'000, 15'000};
  Program program(slowest_to_wake);
  std::size_t faults = 0;
  for (; program.where() == Where::anywhere && faults < trial; ++faults) program.faults(1);
  EXPECT_LE(faults, Placement::left_out + Placement::ns_before / slowest_to_wake[0] + 1);
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::behind);
  // Neither of the slow ways is tried as a whole: another, which comes first, is faster.
  EXPECT_LT(program.times(Where::anywhere), faults + part / 2);
  EXPECT_LT(program.times(Where::beside), part / 2);
}

TEST(TierPlacement, NorHasOneThatFillsMemory) {
  // A fault takes long, but there are few of them.
  Program program(slow_to_wake);
  program.compute(1'000'000);
  program.faults(Placement::faults_before);
  EXPECT_EQ(program.times(Where::anywhere), Placement::faults_before);
}

TEST(TierPlacement, TrialsThatFindTheSameComeMoreAndMoreRarelyUntilAThreadJoins) {
  Program program(slow_to_wake);
  const auto until_tried = [&] {
    while (program.where() != Where::behind) program.faults(1);
    const std::uint64_t settled = program.now();
    while (program.where() == Where::behind) program.faults(1);
    return program.now() - settled;
  };
  for (int trials = 0; trials < 20; ++trials) until_tried();
  EXPECT_GT(until_tried(), Placement::latest_ns / 2);
  program.faults(trial);
  program.joins();
  EXPECT_LE(until_tried(), Placement::soonest_ns + trial * slow_to_wake[0]);
}

TEST(TierPlacement, TakesWhatIsFastest) {
  const std::array<std::pair<Times, Where>, 3> machines{
      {{slow_to_wake, Where::behind}, {quick_to_wake, Where::anywhere}, {all_busy, Where::beside}}};
  for (const auto& [times, fastest] : machines) {
    Program program(times);
    program.faults(Placement::faults_before + trial + 1);
    EXPECT_EQ(program.where(), fastest);
  }
}

TEST(TierPlacement, TryingCostsLittleHoweverBadTheOtherWaysAre) {
  constexpr Times machines[] = {slow_to_wake, quick_to_wake, all_busy, {10'000, 10'100, 1'000'000}};
  for (const Times& times : machines) {
    Program program(times);
    program.faults(Placement::faults_before + trial + 1);
    const std::uint64_t lost = program.lost();
    const std::uint64_t begun = program.now();
    program.faults(3'000'000);
    EXPECT_LT((program.lost() - lost) * 100, (program.now() - begun) * 3) << times[0];
  }
}

TEST(TierPlacement, AWayThatIsHopelessIsNotTriedForLong) {
  for (const Where fastest : {Where::anywhere, Where::beside, Where::behind}) {
    Times times{1'000'000, 1'000'000, 1'000'000};
    times[static_cast<std::size_t>(fastest)] = 10'000;
    Program program(times);
    program.faults(Placement::faults_before + trial + 1);
    EXPECT_EQ(program.where(), fastest);
    // The next trial begins with what was found in this one.
    while (program.where() == fastest) program.faults(1);
    const std::size_t before = program.times(fastest);
    program.faults(trial);
    EXPECT_GT(program.times(fastest) - before, trial - part);
    EXPECT_EQ(program.where(), fastest);
  }
}

TEST(TierPlacement, FindsOutThatTheMachineHasChanged) {
  Program program(slow_to_wake);
  program.faults(1'000'000);
  EXPECT_EQ(program.where(), Where::behind);
  program.become(all_busy);
  const std::uint64_t changed = program.now();
  while (program.now() < changed + Placement::latest_ns + 1'000'000'000) program.faults(1);
  const std::size_t before = program.times(Where::beside);
  program.faults(100'000);
  EXPECT_GT(program.times(Where::beside) - before, 95'000U);
}

TEST(TierPlacement, WhatSuddenlyTakesManyTimesAsLongIsTriedAnewAtOnce) {
  Program program(slow_to_wake);
  program.faults(1'000'000);
  EXPECT_EQ(program.where(), Where::behind);
  program.become({40'000, 15'000, 3'000'000});
  const std::uint64_t changed = program.now();
  while (program.where() == Where::behind) program.faults(1);
  EXPECT_LT(program.now() - changed, 1'000'000'000U);
}

TEST(TierPlacement, WhatNoOtherTrialHasConfirmedIsDoubtedSoon) {
  // Who faults beside the pager's thread is sent away only after the trial.
  Program program({60'000, 15'000, 20'000});
  program.faults(Placement::faults_before + trial);
  ASSERT_EQ(program.where(), Where::beside);
  program.become({60'000, 45'000, 20'000});
  const std::uint64_t changed = program.now();
  while (program.where() != Where::behind) program.faults(1);
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::behind);
  EXPECT_LT(program.now() - changed, 50'000'000U);
}

TEST(TierPlacement, NorIsItConfirmedByWhereThePagerWasBeforeAnyTrial) {
  // Other ways are so much slower that a trial which counts as confirmed comes late.
  Program program({10'000, 60'000, 60'000});
  program.faults(Placement::faults_before + trial);
  ASSERT_EQ(program.where(), Where::anywhere);
  const std::uint64_t settled = program.now();
  while (program.where() == Where::anywhere) program.faults(1);
  EXPECT_LT(program.now() - settled, 410'000'000U);
}

TEST(TierPlacement, WhatAnotherHasConfirmedIsNot) {
  Program program({60'000, 15'000, 20'000});
  while (program.now() < 3'000'000'000) program.faults(1);
  ASSERT_EQ(program.where(), Where::beside);
  program.become({60'000, 45'000, 20'000});
  const std::size_t before = program.times(Where::beside);
  program.faults(2'000);
  EXPECT_EQ(program.times(Where::beside) - before, 2'000U);
}

TEST(TierPlacement, ItIsDoubtedMoreAndMoreRarely) {
  // Each time that it has settled, what it has found takes three times as long as in the trial, and
  // another way is a little faster.
  Times ns{2'000'000'000, 1'000, 1'100};
  Program program(ns);
  std::uint64_t waits = 0;
  for (std::size_t times = 0; times < 5; ++times) {
    const Where found = times % 2 == 0 ? Where::beside : Where::behind;
    while (program.where() != found) program.faults(1);
    program.faults(2 * trial);
    ASSERT_EQ(program.where(), found);
    ns = {2'000'000'000, 3 * std::max(ns[1], ns[2]), 3 * std::max(ns[1], ns[2])};
    ns[times % 2 == 0 ? 2 : 1] -= ns[1] / 10;
    program.become(ns);
    const std::uint64_t settled = program.now();
    while (program.where() == found) program.faults(1);
    EXPECT_GT(program.now() - settled, waits) << times;
    waits = Placement::soonest_if_unconfirmed_ns << times;
  }
}

TEST(TierPlacement, AnInterruptionIsNoReasonForATrial) {
  Program program({100'000, 90'000, 5'000});
  program.faults(1'000'000);
  EXPECT_EQ(program.where(), Where::behind);
  const std::size_t before = program.times(Where::behind);
  for (std::size_t i = 0; i < 4; ++i) {
    program.faults(2 * Placement::compared);
    program.pause(50'000'000);
  }
  program.faults(2 * Placement::compared);
  EXPECT_EQ(program.times(Where::behind) - before, 10 * Placement::compared);
}

TEST(TierPlacement, WhereEachBringsManyPagesSaysNothingOfWhereItBringsOne) {
  Program program(quick_to_wake);
  program.become({250'000, 400'000, 400'000}, 15);
  program.faults(Placement::faults_before + trial + 1);
  EXPECT_EQ(program.where(), Where::anywhere);
  program.become(slow_to_wake);
  const std::uint64_t changed = program.now();
  while (program.where() != Where::behind) program.faults(1);
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::behind);
  EXPECT_LT(program.now() - changed, 3 * Placement::soonest_ns);
}

TEST(TierPlacement, OneInterruptionDoesNotCount) {
  for (std::size_t in = 0; in < trial; in += part / 4) {
    Program program({20'000, 25'000, 18'000});
    program.faults(Placement::faults_before + in);
    program.pause(50'000'000);
    program.faults(trial - in + 1);
    EXPECT_EQ(program.where(), Where::behind) << in;
  }
}

TEST(TierPlacement, AFewThatTakeVeryLongCountAsSuch) {
  Program program({100'000, 100'000, 12'000});
  program.faults(Placement::faults_before + 1);
  std::size_t behind = 0;
  for (std::size_t i = 0; i < trial; ++i) {
    if (program.where() == Where::behind && ++behind % 9 == 0) program.pause(20'000'000);
    program.faults(1);
  }
  EXPECT_NE(program.where(), Where::behind);
}

TEST(TierPlacement, FaultsThatAreLearntOfTogetherAreSharedOut) {
  // 8, 1, 8, 1: each takes 10 us wherever it is served; what differs is the time of the batches.
  Placement placement;
  std::uint64_t now = 1'000'000'000;
  std::array<std::uint64_t, 3> faults{};
  Where where = Where::anywhere;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const std::size_t batch = i % 2 == 0 ? 8 : 1;
    faults[static_cast<std::size_t>(where)] += batch;
    where = placement.learnt(now, 0, batch, 0);
    now += batch * (where == Where::beside ? 9'000 : 10'000);
  }
  EXPECT_GT(faults[1], 9 * (faults[0] + faults[2]));
}

TEST(TierPlacement, PausesOfTheProgramDoNotCount) {
  Program program(slow_to_wake);
  program.faults(before_slow + 5 * part / 2);
  EXPECT_EQ(program.where(), Where::behind);
  for (int pause = 0; pause < 3; ++pause) {
    program.pause(1'000'000'000);
    program.faults(10);
  }
  program.faults(4 * part);
  EXPECT_EQ(program.where(), Where::behind);
}

TEST(TierPlacement, HowLongTheProgramComputesDoesNotCountWhereThatIsKnown) {
  Program program(quick_to_wake);
  program.compute(150'000);
  program.faults(Placement::faults_before);
  for (std::size_t i = 0; i <= trial; ++i) {
    // It computes least where it is served slowest.
    program.compute(program.where() == Where::anywhere ? 900'000 : 150'000);
    program.faults(1);
  }
  EXPECT_EQ(program.where(), Where::anywhere);
}

/// Has one starve that is best served behind, and its faults take these times from then on; when.
std::uint64_t starve_behind(Program& program, Times then) {
  program.faults(Placement::faults_before + trial + 1);
  EXPECT_EQ(program.where(), Where::behind);
  program.become(then);
  const std::uint64_t starved = program.now();
  program.starves();
  return starved;
}

TEST(TierPlacement, ATrialTellsNothingInWhichTheProgramBeginsToCompute) {
  Program program({10'000, 9'000, 8'000});
  while (program.where() != Placement::first_tried) program.faults(1);
  program.faults(part);
  program.become({20'000, 300'000, 300'000});
  program.compute(1'000'000);
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::anywhere);
  program.faults(Placement::soonest_ns / 1'000'000 + trial);
  EXPECT_EQ(program.where(), Where::anywhere);
}

TEST(TierPlacement, NorIsAWayInWhichAProgramThatComputesWaitsHopelessly) {
  constexpr Times slow_behind{20'000, 30'000, 5'000'000};
  Program program(slow_behind);
  program.compute(1'000'000);
  while (program.where() != Placement::first_tried) program.faults(1);
  const std::size_t before = program.times(Where::behind);
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::anywhere);
  // Once as a whole, as nothing better was known; then until that was.
  EXPECT_LT(program.times(Where::behind) - before, part + part / 2);
}

TEST(TierPlacement, WhereItStarvesItIsNotForAWhile) {
  Program program(slow_to_wake);
  const std::uint64_t starved = starve_behind(program, all_busy);
  const std::size_t before = program.times(Where::behind);
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::beside);
  while (program.now() < starved + Placement::first_out_ns) program.faults(1);
  EXPECT_EQ(program.times(Where::behind), before);
  program.become(slow_to_wake);
  program.faults(trial + 2);
  EXPECT_EQ(program.where(), Where::behind);
}

TEST(TierPlacement, WhereItStarvesBehindNoProcessorIsIdleElsewhere) {
  constexpr Times looks_idle{9'000, 14'000, 12'000};  // for a moment
  Program program(slow_to_wake);
  const std::uint64_t starved = starve_behind(program, looks_idle);
  const std::size_t before = program.times(Where::anywhere);
  while (program.now() < starved + Placement::first_out_ns) program.faults(1);
  EXPECT_EQ(program.times(Where::anywhere), before);
  EXPECT_EQ(program.where(), Where::beside);
  program.faults(trial + 2);
  EXPECT_EQ(program.where(), Where::anywhere);
}

TEST(TierPlacement, AnotherProcessorMustBeWorthIt) {
  Program slightly({13'000, 14'000, 14'000});
  slightly.faults(Placement::faults_before + trial + 1);
  EXPECT_EQ(slightly.where(), Where::beside);
  Program clearly({12'000, 14'000, 14'000});
  clearly.faults(Placement::faults_before + trial + 1);
  EXPECT_EQ(clearly.where(), Where::anywhere);
}

TEST(TierPlacement, WhereItStarvesAgainAndAgainItIsNotForLonger) {
  Program program(slow_to_wake);
  const auto out_for = [&] {
    while (program.where() != Where::behind) program.faults(1);
    const std::uint64_t starved = program.now();
    program.starves();
    while (program.where() != Where::behind) program.faults(1);
    return program.now() - starved;
  };
  constexpr std::uint64_t a_trial_ns = 2 * part * (100'000 + 90'000);
  std::uint64_t expected = Placement::first_out_ns;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t out = out_for();
    EXPECT_GE(out, expected);
    EXPECT_LE(out, expected + a_trial_ns);
    expected = std::min(2 * expected, Placement::latest_ns);
  }
  const std::uint64_t well = program.now();
  while (program.now() < well + 3 * Placement::latest_ns) program.faults(1);
  EXPECT_LE(out_for(), Placement::first_out_ns + a_trial_ns);
}

TEST(TierPlacement, WhereverItStarvesTheSchedulerIsLeft) {
  Program program(slow_to_wake);
  program.faults(before_slow + 3 * part / 2);
  EXPECT_EQ(program.where(), Where::beside);
  program.starves();
  while (program.where() == Where::anywhere) program.faults(1);
  EXPECT_EQ(program.where(), Where::behind);
  program.starves();
  program.faults(trial);
  EXPECT_EQ(program.where(), Where::anywhere);
  program.starves();
  EXPECT_EQ(program.where(), Where::anywhere);
}

TEST(TierPlacement, WhereItIsToldToBeNothingIsTried) {
  for (const auto& [wanted, where] :
       {std::pair{Wanted::anywhere, Where::anywhere}, std::pair{Wanted::beside, Where::beside},
        std::pair{Wanted::behind, Where::behind}}) {
    Program program(slow_to_wake, wanted);
    program.faults(Placement::faults_before + 1);
    EXPECT_EQ(program.times(Where::anywhere), Placement::faults_before + 1);
    const std::size_t before = program.times(where);
    program.faults(10'000);
    EXPECT_EQ(program.times(where) - before, 10'000U);
  }
}

TEST(TierPlacement, ItIsBackThereSoonHoweverOftenItStarves) {
  Program program(slow_to_wake, Wanted::behind);
  while (program.where() != Where::behind) program.faults(1);
  for (int times = 0; times < 10; ++times) {
    const std::uint64_t starved = program.now();
    program.starves();
    EXPECT_EQ(program.where(), Where::anywhere);
    while (program.where() == Where::anywhere) program.faults(1);
    EXPECT_EQ(program.where(), Where::behind);
    EXPECT_GE(program.now() - starved, Placement::first_out_ns);
    EXPECT_LT(program.now() - starved, 2 * Placement::first_out_ns);
    program.faults(100);
  }
}

}  // namespace test_file
}  // namespace nearfar::tier

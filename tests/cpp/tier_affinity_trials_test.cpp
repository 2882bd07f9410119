// Where the pager's thread serves faults: what its trials find, and what they cost.

#include "tier/service/affinity_trials.h"

#include <gtest/gtest.h>

#include <utility>

#include "affinity_program.h"

namespace nearfar::tier {
namespace test_file {

TEST(TierAffinityTrials, AShortProgramHasNoTrial) {
  Program program(quick_to_wake);
  program.faults(AffinityTrials::faults_before);
  EXPECT_EQ(program.times(PagerCpu::any), AffinityTrials::faults_before);
  program.faults(3 * part);
  EXPECT_GT(program.times(PagerCpu::same), 0U);
  EXPECT_GT(program.times(PagerCpu::same_idle), 0U);
}

TEST(TierAffinityTrials, AShortProgramHasATrialIfItsFaultsTakeLong) {
  constexpr Times slowest_to_wake{500'000, 500'000, 15'000};
  Program program(slowest_to_wake);
  std::size_t faults = 0;
  for (; program.where() == PagerCpu::any && faults < trial; ++faults) program.faults(1);
  EXPECT_LE(faults, AffinityTrials::left_out + AffinityTrials::ns_before / slowest_to_wake[0] + 1);
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  // Neither of the slow ways is tried as a whole: another, which comes first, is faster.
  EXPECT_LT(program.times(PagerCpu::any), faults + part / 2);
  EXPECT_LT(program.times(PagerCpu::same), part / 2);
}

TEST(TierAffinityTrials, AProgramThatFillsMemoryHasNoTrial) {
  // A fault takes long, but there are few of them.
  Program program(slow_to_wake);
  program.compute(1'000'000);
  program.faults(AffinityTrials::faults_before);
  EXPECT_EQ(program.times(PagerCpu::any), AffinityTrials::faults_before);
}

TEST(TierAffinityTrials, TrialsThatFindTheSameComeMoreAndMoreRarelyUntilAThreadJoins) {
  Program program(slow_to_wake);
  const auto until_tried = [&] {
    while (program.where() != PagerCpu::same_idle) program.faults(1);
    const std::uint64_t settled = program.now();
    while (program.where() == PagerCpu::same_idle) program.faults(1);
    return program.now() - settled;
  };
  for (int trials = 0; trials < 20; ++trials) until_tried();
  EXPECT_GT(until_tried(), AffinityTrials::latest_ns / 2);
  program.faults(trial);
  program.joins();
  EXPECT_LE(until_tried(), AffinityTrials::soonest_ns + trial * slow_to_wake[0]);
}

TEST(TierAffinityTrials, TheFastestWayIsTaken) {
  const std::array<std::pair<Times, PagerCpu>, 3> machines{{{slow_to_wake, PagerCpu::same_idle},
                                                            {quick_to_wake, PagerCpu::any},
                                                            {all_busy, PagerCpu::same}}};
  for (const auto& [times, fastest] : machines) {
    Program program(times);
    program.faults(AffinityTrials::faults_before + trial + 1);
    EXPECT_EQ(program.where(), fastest);
  }
}

TEST(TierAffinityTrials, TryingCostsLittleHoweverBadTheOtherWaysAre) {
  constexpr Times machines[] = {slow_to_wake, quick_to_wake, all_busy, {10'000, 10'100, 1'000'000}};
  for (const Times& times : machines) {
    Program program(times);
    program.faults(AffinityTrials::faults_before + trial + 1);
    const std::uint64_t lost = program.lost();
    const std::uint64_t begun = program.now();
    program.faults(3'000'000);
    EXPECT_LT((program.lost() - lost) * 100, (program.now() - begun) * 3) << times[0];
  }
}

TEST(TierAffinityTrials, AWayThatIsHopelessIsNotTriedForLong) {
  for (const PagerCpu fastest : {PagerCpu::any, PagerCpu::same, PagerCpu::same_idle}) {
    Times times{1'000'000, 1'000'000, 1'000'000};
    times[AffinityTrials::index(fastest)] = 10'000;
    Program program(times);
    program.faults(AffinityTrials::faults_before + trial + 1);
    EXPECT_EQ(program.where(), fastest);
    // The next trial begins with what was found in this one.
    while (program.where() == fastest) program.faults(1);
    const std::size_t before = program.times(fastest);
    program.faults(trial);
    EXPECT_GT(program.times(fastest) - before, trial - part);
    EXPECT_EQ(program.where(), fastest);
  }
}

TEST(TierAffinityTrials, ATrialFindsOutThatTheMachineHasChanged) {
  Program program(slow_to_wake);
  program.faults(1'000'000);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  program.become(all_busy);
  const std::uint64_t changed = program.now();
  while (program.now() < changed + AffinityTrials::latest_ns + 1'000'000'000) program.faults(1);
  const std::size_t before = program.times(PagerCpu::same);
  program.faults(100'000);
  EXPECT_GT(program.times(PagerCpu::same) - before, 95'000U);
}

TEST(TierAffinityTrials, AWayThatSuddenlyTakesManyTimesAsLongIsTriedAnewAtOnce) {
  Program program(slow_to_wake);
  program.faults(1'000'000);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  program.become({40'000, 15'000, 3'000'000});
  const std::uint64_t changed = program.now();
  while (program.where() == PagerCpu::same_idle) program.faults(1);
  EXPECT_LT(program.now() - changed, 1'000'000'000U);
}

TEST(TierAffinityTrials, AnUnconfirmedWayIsDoubtedSoon) {
  // A thread that faults beside the pager's is sent away only after the trial.
  Program program({60'000, 15'000, 20'000});
  program.faults(AffinityTrials::faults_before + trial);
  ASSERT_EQ(program.where(), PagerCpu::same);
  program.become({60'000, 45'000, 20'000});
  const std::uint64_t changed = program.now();
  while (program.where() != PagerCpu::same_idle) program.faults(1);
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  EXPECT_LT(program.now() - changed, 50'000'000U);
}

TEST(TierAffinityTrials, AWayIsNotConfirmedByThePlaceBeforeAnyTrial) {
  // Other ways are so much slower that a trial which counts as confirmed comes late.
  Program program({10'000, 60'000, 60'000});
  program.faults(AffinityTrials::faults_before + trial);
  ASSERT_EQ(program.where(), PagerCpu::any);
  const std::uint64_t settled = program.now();
  while (program.where() == PagerCpu::any) program.faults(1);
  EXPECT_LT(program.now() - settled, 410'000'000U);
}

TEST(TierAffinityTrials, AConfirmedWayIsNotDoubtedSoon) {
  Program program({60'000, 15'000, 20'000});
  while (program.now() < 3'000'000'000) program.faults(1);
  ASSERT_EQ(program.where(), PagerCpu::same);
  program.become({60'000, 45'000, 20'000});
  const std::size_t before = program.times(PagerCpu::same);
  program.faults(2'000);
  EXPECT_EQ(program.times(PagerCpu::same) - before, 2'000U);
}

TEST(TierAffinityTrials, AWayIsDoubtedMoreAndMoreRarely) {
  // Each time that it has settled, what it has found takes three times as long as in the trial, and
  // another way is a little faster.
  Times ns{2'000'000'000, 1'000, 1'100};
  Program program(ns);
  std::uint64_t waits = 0;
  for (std::size_t times = 0; times < 5; ++times) {
    const PagerCpu found = times % 2 == 0 ? PagerCpu::same : PagerCpu::same_idle;
    while (program.where() != found) program.faults(1);
    program.faults(2 * trial);
    ASSERT_EQ(program.where(), found);
    ns = {2'000'000'000, 3 * std::max(ns[1], ns[2]), 3 * std::max(ns[1], ns[2])};
    ns[times % 2 == 0 ? 2 : 1] -= ns[1] / 10;
    program.become(ns);
    const std::uint64_t settled = program.now();
    while (program.where() == found) program.faults(1);
    EXPECT_GT(program.now() - settled, waits) << times;
    waits = AffinityTrials::soonest_if_unconfirmed_ns << times;
  }
}

TEST(TierAffinityTrials, AnInterruptionIsNoReasonForATrial) {
  Program program({100'000, 90'000, 5'000});
  program.faults(1'000'000);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  const std::size_t before = program.times(PagerCpu::same_idle);
  for (std::size_t i = 0; i < 4; ++i) {
    program.faults(2 * AffinityTrials::compared);
    program.pause(50'000'000);
  }
  program.faults(2 * AffinityTrials::compared);
  EXPECT_EQ(program.times(PagerCpu::same_idle) - before, 10 * AffinityTrials::compared);
}

TEST(TierAffinityTrials, FaultsOfManyPagesTellNothingOfFaultsOfOne) {
  Program program(quick_to_wake);
  program.become({250'000, 400'000, 400'000}, 15);
  program.faults(AffinityTrials::faults_before + trial + 1);
  EXPECT_EQ(program.where(), PagerCpu::any);
  program.become(slow_to_wake);
  const std::uint64_t changed = program.now();
  while (program.where() != PagerCpu::same_idle) program.faults(1);
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  EXPECT_LT(program.now() - changed, 3 * AffinityTrials::soonest_ns);
}

TEST(TierAffinityTrials, OneInterruptionDoesNotCountInATrial) {
  for (std::size_t in = 0; in < trial; in += part / 4) {
    Program program({20'000, 25'000, 18'000});
    program.faults(AffinityTrials::faults_before + in);
    program.pause(50'000'000);
    program.faults(trial - in + 1);
    EXPECT_EQ(program.where(), PagerCpu::same_idle) << in;
  }
}

TEST(TierAffinityTrials, AFewVeryLongFaultsCountInATrial) {
  Program program({100'000, 100'000, 12'000});
  program.faults(AffinityTrials::faults_before + 1);
  std::size_t behind = 0;
  for (std::size_t i = 0; i < trial; ++i) {
    if (program.where() == PagerCpu::same_idle && ++behind % 9 == 0) program.pause(20'000'000);
    program.faults(1);
  }
  EXPECT_NE(program.where(), PagerCpu::same_idle);
}

TEST(TierAffinityTrials, FaultsThatAreReadTogetherAreSharedOut) {
  // 8, 1, 8, 1: each takes 10 us wherever it is served; what differs is the time of the batches.
  AffinityTrials placement;
  std::uint64_t now = 1'000'000'000;
  std::array<std::uint64_t, 3> faults{};
  PagerCpu where = PagerCpu::any;
  for (std::size_t i = 0; i < 100'000; ++i) {
    const std::size_t batch = i % 2 == 0 ? 8 : 1;
    faults[AffinityTrials::index(where)] += batch;
    where = placement.learnt(now, 0, batch, 0);
    now += batch * (where == PagerCpu::same ? 9'000 : 10'000);
  }
  EXPECT_GT(faults[1], 9 * (faults[0] + faults[2]));
}

TEST(TierAffinityTrials, PausesOfTheProgramDoNotCount) {
  Program program(slow_to_wake);
  program.faults(before_slow + 5 * part / 2);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  for (int pause = 0; pause < 3; ++pause) {
    program.pause(1'000'000'000);
    program.faults(10);
  }
  program.faults(4 * part);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
}

TEST(TierAffinityTrials, TheComputingTimeOfAProgramDoesNotCountWhereItIsKnown) {
  Program program(quick_to_wake);
  program.compute(150'000);
  program.faults(AffinityTrials::faults_before);
  for (std::size_t i = 0; i <= trial; ++i) {
    // It computes least where it is served slowest.
    program.compute(program.where() == PagerCpu::any ? 900'000 : 150'000);
    program.faults(1);
  }
  EXPECT_EQ(program.where(), PagerCpu::any);
}

/// Has one starve that is best served behind, and its faults take these times from then on; when.
std::uint64_t starve_behind(Program& program, Times then) {
  program.faults(AffinityTrials::faults_before + trial + 1);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  program.become(then);
  const std::uint64_t starved = program.now();
  program.starves();
  return starved;
}

TEST(TierAffinityTrials, ATrialTellsNothingInWhichTheProgramBeginsToCompute) {
  Program program({10'000, 9'000, 8'000});
  while (program.where() != AffinityTrials::first_tried) program.faults(1);
  program.faults(part);
  program.become({20'000, 300'000, 300'000});
  program.compute(1'000'000);
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::any);
  program.faults(AffinityTrials::soonest_ns / 1'000'000 + trial);
  EXPECT_EQ(program.where(), PagerCpu::any);
}

TEST(TierAffinityTrials, AHopelessWayForAProgramThatComputesIsNotTriedForLong) {
  constexpr Times slow_behind{20'000, 30'000, 5'000'000};
  Program program(slow_behind);
  program.compute(1'000'000);
  while (program.where() != AffinityTrials::first_tried) program.faults(1);
  const std::size_t before = program.times(PagerCpu::same_idle);
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::any);
  // Once as a whole, as nothing better was known; then until that was.
  EXPECT_LT(program.times(PagerCpu::same_idle) - before, part + part / 2);
}

TEST(TierAffinityTrials, ThePagerStaysAwayForAWhileWhereItStarves) {
  Program program(slow_to_wake);
  const std::uint64_t starved = starve_behind(program, all_busy);
  const std::size_t before = program.times(PagerCpu::same_idle);
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::same);
  while (program.now() < starved + AffinityTrials::first_out_ns) program.faults(1);
  EXPECT_EQ(program.times(PagerCpu::same_idle), before);
  program.become(slow_to_wake);
  program.faults(trial + 2);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
}

TEST(TierAffinityTrials, NoProcessorIsIdleWhereThePagerStarvesBehindAThread) {
  constexpr Times looks_idle{9'000, 14'000, 12'000};  // for a moment
  Program program(slow_to_wake);
  const std::uint64_t starved = starve_behind(program, looks_idle);
  const std::size_t before = program.times(PagerCpu::any);
  while (program.now() < starved + AffinityTrials::first_out_ns) program.faults(1);
  EXPECT_EQ(program.times(PagerCpu::any), before);
  EXPECT_EQ(program.where(), PagerCpu::same);
  program.faults(trial + 2);
  EXPECT_EQ(program.where(), PagerCpu::any);
}

TEST(TierAffinityTrials, AnotherProcessorMustBeWorthIt) {
  Program slightly({13'000, 14'000, 14'000});
  slightly.faults(AffinityTrials::faults_before + trial + 1);
  EXPECT_EQ(slightly.where(), PagerCpu::same);
  Program clearly({12'000, 14'000, 14'000});
  clearly.faults(AffinityTrials::faults_before + trial + 1);
  EXPECT_EQ(clearly.where(), PagerCpu::any);
}

TEST(TierAffinityTrials, ThePagerStaysAwayLongerEachTimeItStarves) {
  Program program(slow_to_wake);
  const auto out_for = [&] {
    while (program.where() != PagerCpu::same_idle) program.faults(1);
    const std::uint64_t starved = program.now();
    program.starves();
    while (program.where() != PagerCpu::same_idle) program.faults(1);
    return program.now() - starved;
  };
  constexpr std::uint64_t a_trial_ns = 2 * part * (100'000 + 90'000);
  std::uint64_t expected = AffinityTrials::first_out_ns;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t out = out_for();
    EXPECT_GE(out, expected);
    EXPECT_LE(out, expected + a_trial_ns);
    expected = std::min(2 * expected, AffinityTrials::latest_ns);
  }
  const std::uint64_t well = program.now();
  while (program.now() < well + 3 * AffinityTrials::latest_ns) program.faults(1);
  EXPECT_LE(out_for(), AffinityTrials::first_out_ns + a_trial_ns);
}

TEST(TierAffinityTrials, TheSchedulerPlacesAPagerThatStarvesEverywhere) {
  Program program(slow_to_wake);
  program.faults(before_slow + 3 * part / 2);
  EXPECT_EQ(program.where(), PagerCpu::same);
  program.starves();
  while (program.where() == PagerCpu::any) program.faults(1);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  program.starves();
  program.faults(trial);
  EXPECT_EQ(program.where(), PagerCpu::any);
  program.starves();
  EXPECT_EQ(program.where(), PagerCpu::any);
}

TEST(TierAffinityTrials, AFixedWayIsNotTried) {
  for (const auto& [wanted, where] :
       {std::pair{PagerCpu::any, PagerCpu::any}, std::pair{PagerCpu::same, PagerCpu::same},
        std::pair{PagerCpu::same_idle, PagerCpu::same_idle}}) {
    Program program(slow_to_wake, wanted);
    program.faults(AffinityTrials::faults_before + 1);
    EXPECT_EQ(program.times(PagerCpu::any), AffinityTrials::faults_before + 1);
    const std::size_t before = program.times(where);
    program.faults(10'000);
    EXPECT_EQ(program.times(where) - before, 10'000U);
  }
}

TEST(TierAffinityTrials, ThePagerReturnsSoonHoweverOftenItStarves) {
  Program program(slow_to_wake, PagerCpu::same_idle);
  while (program.where() != PagerCpu::same_idle) program.faults(1);
  for (int times = 0; times < 10; ++times) {
    const std::uint64_t starved = program.now();
    program.starves();
    EXPECT_EQ(program.where(), PagerCpu::any);
    while (program.where() == PagerCpu::any) program.faults(1);
    EXPECT_EQ(program.where(), PagerCpu::same_idle);
    EXPECT_GE(program.now() - starved, AffinityTrials::first_out_ns);
    EXPECT_LT(program.now() - starved, 2 * AffinityTrials::first_out_ns);
    program.faults(100);
  }
}

}  // namespace test_file
}  // namespace nearfar::tier

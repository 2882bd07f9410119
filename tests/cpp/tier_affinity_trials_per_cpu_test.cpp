// Where faults of several threads are served: on one processor, or on each of several.

#include <gtest/gtest.h>

#include "affinity_program.h"

namespace nearfar::tier {
namespace test_file {

constexpr std::size_t part_on_each =
    AffinityTrials::left_out_per_cpu + AffinityTrials::compared_per_cpu + 1;
constexpr std::size_t trial_of_several =
    6 * (AffinityTrials::left_out + AffinityTrials::compared_of_several + 1) + 2 * part_on_each;
constexpr Times better_on_each{30'000, 15'000, 10'000, 7'000};

TEST(TierAffinityTrials, SeveralThreadsAreServedOnEachProcessorWhereThatIsFaster) {
  Program program(better_on_each);
  program.several(true);
  program.faults(AffinityTrials::faults_before + trial_of_several);
  EXPECT_EQ(program.where(), PagerCpu::per_cpu);
  Program hardly({30'000, 15'000, 10'000, 9'500});  // they would have those processors anyway
  hardly.several(true);
  hardly.faults(AffinityTrials::faults_before + trial_of_several);
  EXPECT_EQ(hardly.where(), PagerCpu::per_cpu);
  Program slower({30'000, 15'000, 10'000, 10'500});
  slower.several(true);
  slower.faults(AffinityTrials::faults_before + trial_of_several);
  EXPECT_EQ(slower.where(), PagerCpu::same_idle);
  EXPECT_GT(slower.times(PagerCpu::per_cpu), 0U);
}

TEST(TierAffinityTrials, OneThreadIsNotServedOnEachProcessor) {
  Program program(better_on_each);
  program.faults(AffinityTrials::faults_before + 3 * trial_of_several);
  EXPECT_EQ(program.times(PagerCpu::per_cpu), 0U);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
}

TEST(TierAffinityTrials, TheFastestWayIsFoundAnewWhenThreadsBeginOrCeaseToFault) {
  Program program(better_on_each);
  program.faults(AffinityTrials::faults_before + 20 * trial);
  ASSERT_EQ(program.where(), PagerCpu::same_idle);
  const std::size_t soon = AffinityTrials::soonest_ns / better_on_each[3];
  program.several(true);
  program.faults(soon + trial_of_several);
  ASSERT_EQ(program.where(), PagerCpu::per_cpu);
  program.several(false);
  program.faults(soon + trial_of_several);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
}

TEST(TierAffinityTrials, AHopelessWayOnEachProcessorIsNotTriedForLong) {
  Program program({30'000, 15'000, 10'000, 1'000'000});
  program.several(true);
  program.faults(AffinityTrials::faults_before + trial_of_several);
  EXPECT_EQ(program.where(), PagerCpu::same_idle);
  EXPECT_LT(program.times(PagerCpu::per_cpu), 2 * (AffinityTrials::left_out_per_cpu + 50));
}

}  // namespace test_file
}  // namespace nearfar::tier

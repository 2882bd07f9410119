// Where faults of several threads are served: on one processor, or on each of several.

#include <gtest/gtest.h>

#include "placement_program.h"

namespace nearfar::tier {
namespace test_file {

constexpr std::size_t part_on_each = Placement::left_out_on_each + Placement::compared_on_each + 1;
constexpr std::size_t trial_of_several =
    6 * (Placement::left_out + Placement::compared_of_several + 1) + 2 * part_on_each;
constexpr Times better_on_each{30'000, 15'000, 10'000, 7'000};

TEST(TierPlacement, SeveralThreadsAreServedOnEachOfTheirProcessorsWhereThatIsFaster) {
  Program program(better_on_each);
  program.several(true);
  program.faults(Placement::faults_before + trial_of_several);
  EXPECT_EQ(program.where(), Where::each);
  Program hardly({30'000, 15'000, 10'000, 9'500});  // they would have those processors anyway
  hardly.several(true);
  hardly.faults(Placement::faults_before + trial_of_several);
  EXPECT_EQ(hardly.where(), Where::each);
  Program slower({30'000, 15'000, 10'000, 10'500});
  slower.several(true);
  slower.faults(Placement::faults_before + trial_of_several);
  EXPECT_EQ(slower.where(), Where::behind);
  EXPECT_GT(slower.times(Where::each), 0U);
}

TEST(TierPlacement, OneThreadIsNot) {
  Program program(better_on_each);
  program.faults(Placement::faults_before + 3 * trial_of_several);
  EXPECT_EQ(program.times(Where::each), 0U);
  EXPECT_EQ(program.where(), Where::behind);
}

TEST(TierPlacement, WhatIsFastestIsFoundAnewWhenOthersBeginOrCeaseToFault) {
  Program program(better_on_each);
  program.faults(Placement::faults_before + 20 * trial);
  ASSERT_EQ(program.where(), Where::behind);
  const std::size_t soon = Placement::soonest_ns / better_on_each[3];
  program.several(true);
  program.faults(soon + trial_of_several);
  ASSERT_EQ(program.where(), Where::each);
  program.several(false);
  program.faults(soon + trial_of_several);
  EXPECT_EQ(program.where(), Where::behind);
}

TEST(TierPlacement, WhereItIsHopelessOnEachItIsNotTriedForLong) {
  Program program({30'000, 15'000, 10'000, 1'000'000});
  program.several(true);
  program.faults(Placement::faults_before + trial_of_several);
  EXPECT_EQ(program.where(), Where::behind);
  EXPECT_LT(program.times(Where::each), 2 * (Placement::left_out_on_each + 50));
}

}  // namespace test_file
}  // namespace nearfar::tier

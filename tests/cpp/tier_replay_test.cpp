// A generated program on a whole pager: what it reads back, and what the pager counts meanwhile.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "pager_workload.h"

namespace nearfar::tier {
namespace test_file {

struct Replayed {
  const char* workload;
  std::map<std::string, std::uint64_t> counts;
};

/// What the pager counted when it was one class, before it was cut into parts, on the same fake
/// kernel and the same steps (bench_pager WORKLOAD 1). A change that is meant to keep behaviour
/// keeps these; one that is not says so by changing them.
const Replayed replayed[] = {
    {"small",
     {{"faults", 7052},
      {"copies_in", 17785},
      {"copies_out", 10381},
      {"first_touches", 9216},
      {"evictions", 25201},
      {"second_chances", 177},
      {"clean_drops", 14547},
      {"read_ahead", 20093},
      {"read_ahead_hits", 19982},
      {"pinned", 0},
      {"over_budget", 0},
      {"near_peak", 2016},
      {"managed_peak", 8192},
      {"slots_peak", 8192},
      {"window_touches", 0}}},
    {"copying",
     {{"faults", 6965},
      {"copies_in", 17785},
      {"copies_out", 10381},
      {"first_touches", 9216},
      {"evictions", 25201},
      {"second_chances", 177},
      {"clean_drops", 14547},
      {"read_ahead", 20093},
      {"near_peak", 2016}}},
    {"compressed",
     {{"faults", 7052},
      {"copies_in", 17785},
      {"copies_out", 10381},
      {"evictions", 25201},
      {"clean_drops", 14547},
      {"stored_peak", 17825792}}},
    {"huge",
     {{"faults", 44641},
      {"copies_in", 133851},
      {"copies_out", 81603},
      {"first_touches", 73728},
      {"evictions", 184871},
      {"second_chances", 2190},
      {"clean_drops", 100129},
      {"read_ahead", 90922},
      {"read_ahead_hits", 90346},
      {"near_peak", 24226},
      {"window_touches", 72704},
      {"huge_moves", 269},
      {"huge_ins", 125},
      {"ready_ins", 125},
      {"split_ins", 0}}},
};

std::uint64_t count_named(PagerRig& rig, const std::string& name) {
  for (std::size_t i = 0; i < number_of_counts; ++i)
    if (all_counts[i].name == name) return rig.count(static_cast<Count>(i));
  throw std::runtime_error("no such count: " + name);
}

class Replay : public testing::TestWithParam<Replayed> {};

TEST_P(Replay, OfAGeneratedProgramCountsWhatItCountedBefore) {
  const RigOptions options = options_of(GetParam().workload);
  PagerRig rig(options);
  run(rig, Generator(1, options.pages).program(1));  // which checks every word that it reads
  for (const auto& [name, expected] : GetParam().counts)
    EXPECT_EQ(count_named(rig, name), expected) << name;
}

TEST_P(Replay, OfAnyProgramBringsInNoMoreThanHasLeft) {
  const RigOptions options = options_of(GetParam().workload);
  for (const std::uint64_t seed : {2, 3}) {
    PagerRig rig({.pages = 4096,
                  .limit = 1024,
                  .compression = options.compression,
                  .eviction = options.eviction,
                  .huge_pages = options.huge_pages});
    run(rig, Generator(seed, 4096).program(1));
    const std::uint64_t left = rig.count(Count::clean_drops) + rig.count(Count::zero_drops) +
                               rig.count(Count::copies_out) + rig.count(Count::filled_drops);
    // What was evicted has come back from limbo, or has left it, or was dropped there.
    EXPECT_LE(rig.count(Count::second_chances) + left, rig.count(Count::evictions));
    EXPECT_LE(rig.count(Count::copies_in), left);
    EXPECT_LE(rig.count(Count::near_peak), 1024U);
    EXPECT_LE(rig.pages().present(), 1024U);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, Replay, testing::ValuesIn(replayed),
                         [](const auto& of) { return std::string(of.param.workload); });

}  // namespace test_file
}  // namespace nearfar::tier

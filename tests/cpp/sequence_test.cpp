#include "sim/machine/sequence.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "machine_fixture.h"
#include "sim/cpu/config.h"

namespace nearfar::sim {
namespace test_file {

using Kind = Sequence::Kind;

constexpr std::uint64_t load(Bytes address) { return Sequence::pack(Kind::load, address); }
constexpr std::uint64_t cached(Bytes address) { return Sequence::pack(Kind::cached_load, address); }
constexpr std::uint64_t store(Bytes address) { return Sequence::pack(Kind::nt_store, address); }
constexpr std::uint64_t delay(std::uint64_t ps) { return Sequence::pack(Kind::delay, ps); }
constexpr std::uint64_t mfence = Sequence::pack(Kind::mfence);
constexpr std::uint64_t sfence = Sequence::pack(Kind::sfence);
constexpr std::uint64_t wait = Sequence::pack(Kind::wait);

SequenceTimes times(const std::vector<std::uint64_t>& steps, std::uint32_t outstanding = 1,
                    bool core = false) {
  Sequence sequence;
  sequence.steps = steps;
  sequence.outstanding = outstanding;
  sequence.core = core;
  return play(testing::optane(), sequence);
}

std::string refusal(const std::vector<std::uint64_t>& steps) {
  try {
    (void)times(steps);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::uint64_t> random_steps(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::uint64_t> steps;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes line = rng.below(1 << 12) * line_bytes;
    switch (rng.below(12)) {
      case 0:
        steps.push_back(mfence);
        break;
      case 1:
        steps.push_back(sfence);
        break;
      case 2:
        steps.push_back(wait);
        break;
      case 3:
        steps.push_back(delay(rng.below(100'000)));
        break;
      default:
        steps.push_back(rng.below(2) == 0 ? load(line) : store(line));
    }
  }
  return steps;
}

class EitherAgent : public ::testing::TestWithParam<bool> {};

TEST_P(EitherAgent, EveryStepEndsNoEarlierThanItBeganAndBeginsAfterTheOneBefore) {
  for (const std::uint32_t outstanding : {1u, 3u, 0u}) {
    const auto found = times(random_steps(4000, outstanding), outstanding, GetParam());
    std::uint64_t latest = 0;
    for (std::size_t i = 0; i < found.issued.size(); ++i) {
      ASSERT_LE(found.issued[i], found.done[i]) << "step " << i;
      ASSERT_LE(found.issued[i == 0 ? 0 : i - 1], found.issued[i]) << "step " << i;
      latest = std::max(latest, found.done[i]);
    }
    EXPECT_EQ(found.elapsed.ps(), latest);
  }
}

TEST_P(EitherAgent, AnAgentPlaysTheSameTwice) {
  const auto steps = random_steps(4000, 7);
  const auto once = times(steps, 4, GetParam());
  const auto again = times(steps, 4, GetParam());
  EXPECT_EQ(once.issued, again.issued);
  EXPECT_EQ(once.done, again.done);
}

TEST_P(EitherAgent, AnMfenceAndAWaitEndWhenAllEarlierStepsHaveEnded) {
  const auto steps = random_steps(4000, 3);
  const auto found = times(steps, 8, GetParam());
  std::uint64_t accesses_done = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Kind kind = Sequence::kind_of(steps[i]);
    if (kind == Kind::load || kind == Kind::nt_store) {
      accesses_done = std::max(accesses_done, found.done[i]);
    } else if (kind == Kind::mfence || kind == Kind::wait) {
      ASSERT_GE(found.done[i], accesses_done) << "step " << i;
    }
  }
}

TEST_P(EitherAgent, ADelayPutsOffTheStepsBehindIt) {
  const auto found = times({load(0), wait, delay(5'000'000), load(64)}, 1, GetParam());
  EXPECT_EQ(found.done[2], found.done[1] + 5'000'000);
  EXPECT_EQ(found.issued[3], found.done[2]);
}

TEST_P(EitherAgent, ADependentChainIssuesEachLoadWhenTheLastIsDone) {
  const auto found = times({load(0), load(8192), load(64), load(1 << 20)}, 1, GetParam());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(found.issued[i], found.done[i - 1]);
}

TEST_P(EitherAgent, NoMoreLoadsAreOutThanTheLimitAllows) {
  std::vector<std::uint64_t> steps;
  for (Bytes i = 0; i < 500; ++i) steps.push_back(load(i * 1'000'000 % (1 << 29) / 64 * 64));
  constexpr std::size_t outstanding = 5;
  const auto found = times(steps, outstanding, GetParam());
  for (std::size_t i = outstanding; i < steps.size(); ++i) {
    std::size_t out = 0;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (found.done[earlier] > found.issued[i]) ++out;
    }
    ASSERT_LT(out, outstanding) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sequence, EitherAgent, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "core" : "none"; });

TEST(Sequence, AStoreIsDoneWhenTheWritePendingQueueTakesIt) {
  const auto found = times({store(0), store(64), store(128)}, 1);
  for (const std::uint64_t done : found.done) EXPECT_EQ(done, 0u);
}

TEST(Sequence, AStoreThatFindsTheQueueFullWaitsForItsSlot) {
  // Whole lines of different blocks: the queues fill, and from then on the media set the pace.
  std::vector<std::uint64_t> steps;
  for (Bytes i = 0; i < 200; ++i) steps.push_back(store(i * 256));
  const auto found = times(steps, 1);
  EXPECT_EQ(found.done[7], found.issued[7]);
  EXPECT_GT(found.done[199] - found.issued[199], 50'000u);
}

TEST(Sequence, AnMfenceDrainsTheLoadStoreQueueAndAnSfenceDoesNot) {
  const auto media_writes = [](std::uint64_t fence) {
    for (const auto& [name, value] : times({store(0), fence, delay(5'000'000)}).counters) {
      if (name == "channel.0.dimm.media.writes") return value;
    }
    throw std::logic_error("no such counter");
  };
  EXPECT_EQ(media_writes(mfence), 1u);
  EXPECT_EQ(media_writes(sfence), 0u);
}

TEST(Sequence, ACoreAddsItsPathToWhatTheMemoryTakes) {
  // The load begins with the on-DIMM DRAM's clock where the core's load finds it.
  const auto bare = times({delay(31'000), load(0)}, 1, false);
  const auto core = times({load(0)}, 1, true);
  EXPECT_EQ(core.done[0], bare.done[1] + 31'000);
}

TEST(Sequence, ACoresStoresOverlapThoughItsLoadsDepend) {
  const auto found = times({store(0), store(64), store(128)}, 1, true);
  EXPECT_EQ(found.issued[1] - found.issued[0], 5'400u);
  EXPECT_EQ(found.done[0], 75'000u);
}

TEST(Sequence, ACoresSfenceWaitsForTheAcknowledgementAndCosts) {
  const auto found = times({store(0), sfence}, 1, true);
  EXPECT_EQ(found.done[1], 75'000u + 95'000 + 10'000);
}

TEST(Sequence, ACoresThirteenthStoreWaitsForAWriteCombiningBuffer) {
  std::vector<std::uint64_t> steps;
  for (Bytes i = 0; i < 13; ++i) steps.push_back(store(i * 64));
  const auto found = times(steps, 1, true);
  EXPECT_EQ(found.issued[12], found.done[0] + 95'000);
}

TEST(Sequence, ACoresCachedLoadLeavesItsLineInTheCaches) {
  const auto found = times({cached(0), cached(0), load(0)}, 1, true);
  EXPECT_EQ(found.done[1] - found.issued[1],
            cpu::Config::from(testing::optane()).caches.l1.latency.ps());
  EXPECT_EQ(found.done[2] - found.issued[2], found.done[1] - found.issued[1]);
}

TEST(Sequence, UntimedLoadsTakeNoTimeAndLeaveTheirLines) {
  Sequence sequence;
  sequence.steps = {cached(0), cached(64), cached(0), cached(4096)};
  sequence.core = true;
  sequence.untimed = 2;
  const auto found = play(testing::optane(), sequence);
  EXPECT_EQ(found.issued[2], 0u);
  EXPECT_EQ(found.done[1], 0u);
  EXPECT_LT(found.done[2], 10'000u) << "a hit";
  EXPECT_GT(found.done[3] - found.issued[3], 200'000u) << "a miss";

  const auto without = play(testing::optane({{"cpu.caches", "false"}}), sequence);
  EXPECT_EQ(without.done[1], 0u);
  EXPECT_GT(without.done[2], 200'000u) << "there was nothing to leave a line in";

  sequence.untimed = 5;
  EXPECT_THROW((void)play(testing::optane(), sequence), InputError);
  sequence.steps[1] = load(64);
  sequence.untimed = 2;
  EXPECT_THROW((void)play(testing::optane(), sequence), InputError);
}

TEST(Sequence, AnAddressWithinALineMeansTheLine) {
  const auto found = times({load(4096), load(4096 + 63)}, 1);
  const auto aligned = times({load(4096), load(4096)}, 1);
  EXPECT_EQ(found.done, aligned.done);
}

TEST(Sequence, AnEmptySequenceTakesNoTime) {
  const auto found = times({});
  EXPECT_TRUE(found.issued.empty());
  EXPECT_EQ(found.elapsed, Tick{});
}

TEST(Sequence, ASequenceRefusesStepsThatNoMachineCanDo) {
  EXPECT_EQ(refusal({load(0), Sequence::pack(Kind::load, 1 << 30)}),
            "sequence: step 1 has address 1073741824, beyond the memory of 1073741824 B");
  EXPECT_EQ(refusal({std::uint64_t{8} << 56}), "sequence: step 0 has operation 8, expected 0 to 7");
  EXPECT_EQ(refusal({cached(0)}), "sequence: step 0 is a cached load, which needs the agent core");
  EXPECT_EQ(refusal(std::vector<std::uint64_t>(200, delay((std::uint64_t{1} << 56) - 1))),
            "sequence: step 128 brings the delays to more than 106 days");
}

TEST(Sequence, ASequenceLetsItsCallerInterrupt) {
  Sequence sequence;
  sequence.steps.assign(1 << 17, load(0));
  for (const bool core : {false, true}) {
    sequence.core = core;
    EXPECT_THROW((void)play(testing::optane(), sequence, [] { throw std::runtime_error("stop"); }),
                 std::runtime_error);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim

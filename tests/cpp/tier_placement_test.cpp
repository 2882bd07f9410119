// Where the pager's thread serves faults: what its trials find, and what they cost.

#include "tier/placement.h"

#include <gtest/gtest.h>

namespace nearfar::tier {
namespace {

/// Faults of a program on a machine where serving one takes so many nanoseconds.
class Machine {
 public:
  Machine(std::uint64_t anywhere, std::uint64_t beside) : ns_{anywhere, beside} {}

  void faults(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t took = ns_[static_cast<std::size_t>(where_)];
      now_ += took;
      lost_ += took - std::min(ns_[0], ns_[1]);
      beside_ += where_ == Where::beside ? 1 : 0;
      where_ = placement_.learnt(now_, 1);
    }
  }
  void become(std::uint64_t anywhere, std::uint64_t beside) { ns_ = {anywhere, beside}; }
  void pause(std::uint64_t ns) { now_ += ns; }

  Placement& placement() { return placement_; }
  [[nodiscard]] Where where() const { return where_; }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  [[nodiscard]] std::size_t beside() const { return beside_; }

 private:
  std::array<std::uint64_t, 2> ns_;
  Placement placement_;
  Where where_ = Where::anywhere;
  std::uint64_t now_ = 1'000'000'000;
  std::uint64_t lost_ = 0;
  std::size_t beside_ = 0;
};

constexpr std::size_t trial = 4 * (Placement::left_out + Placement::compared);

TEST(TierPlacement, AShortProgramHasNoTrial) {
  Machine machine(100'000, 10'000);
  machine.faults(Placement::faults_before);
  EXPECT_EQ(machine.beside(), 0U);
  machine.faults(trial / 2);
  EXPECT_GT(machine.beside(), 0U);
}

TEST(TierPlacement, TakesWhatIsFaster) {
  for (const bool slow_to_wake : {true, false}) {
    Machine machine(slow_to_wake ? 100'000 : 10'000, slow_to_wake ? 12'000 : 14'000);
    machine.faults(Placement::faults_before + trial);
    EXPECT_EQ(machine.where(), slow_to_wake ? Where::beside : Where::anywhere);
  }
}

TEST(TierPlacement, TryingCostsLittleHoweverBadTheOtherWayIs) {
  for (const std::uint64_t slow :
       {std::uint64_t{15'000}, std::uint64_t{100'000}, std::uint64_t{1'000'000}}) {
    for (const bool beside : {true, false}) {
      Machine machine(beside ? slow : 10'000, beside ? 10'000 : slow);
      machine.faults(Placement::faults_before + trial);
      const std::uint64_t lost = machine.lost();
      const std::uint64_t begun = machine.now();
      machine.faults(3'000'000);
      EXPECT_LT((machine.lost() - lost) * 100, (machine.now() - begun) * 3)
          << slow << (beside ? " anywhere" : " beside");
    }
  }
}

TEST(TierPlacement, FindsOutThatTheMachineHasChanged) {
  Machine machine(100'000, 10'000);
  machine.faults(1'000'000);
  EXPECT_EQ(machine.where(), Where::beside);
  machine.become(10'000, 100'000);
  const std::uint64_t changed = machine.now();
  while (machine.where() == Where::beside && machine.now() < changed + 20'000'000'000)
    machine.faults(1);
  machine.faults(trial);
  EXPECT_EQ(machine.where(), Where::anywhere);
  EXPECT_LT(machine.now() - changed, Placement::latest_ns + 1'000'000'000);
}

TEST(TierPlacement, PausesOfTheProgramDoNotCount) {
  Machine machine(100'000, 10'000);
  machine.faults(Placement::faults_before + 3 * trial / 8);
  for (int pause = 0; pause < 3; ++pause) {  // while it is beside
    machine.pause(1'000'000'000);
    machine.faults(1);
  }
  machine.faults(trial);
  EXPECT_EQ(machine.where(), Where::beside);
}

TEST(TierPlacement, WhoStarvesIsNotTriedAgainSoon) {
  Machine machine(100'000, 10'000);
  machine.faults(Placement::faults_before + trial);
  machine.placement().starved(machine.now());
  const std::size_t before = machine.beside();
  machine.faults(1 + (Placement::latest_ns - 1'000'000) / 100'000);
  EXPECT_LE(machine.beside(), before + 1);
  machine.faults(trial);
  EXPECT_GT(machine.beside(), before + 1);
}

}  // namespace
}  // namespace nearfar::tier

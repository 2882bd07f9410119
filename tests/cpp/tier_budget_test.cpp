// Slots of the far file, and the budget that the processes of a tree share, without a kernel.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tier/far/slots.h"
#include "tier/tree/budget.h"
#include "tree_memory.h"

namespace nearfar::tier {
namespace test_file {

struct Shared {
  std::unique_ptr<Control, FreeTreeMemory> control = tree_memory();
  std::vector<Slots::Users> users = std::vector<Slots::Users>(100);
  explicit Shared(std::uint64_t limit = 10) {
    control->limit_pages = limit;
    control->far_slots = users.size();
  }
};

TEST(Slots, SlotsAreTakenSideBySideAndNeverTwice) {
  Shared shared;
  Slots one(*shared.control, shared.users.data());
  Slots other(*shared.control, shared.users.data());
  std::set<Slot> taken;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(taken.insert(one.take()).second);
    ASSERT_TRUE(taken.insert(other.take()).second);
  }
  EXPECT_EQ(taken.size(), 100U);
  EXPECT_EQ(one.take(), no_slot);
  one.release(42);
  EXPECT_EQ(other.take(), 42U);
}

TEST(Slots, SlotsAreFreeWhenTheLastUserReleasesThem) {
  Shared shared;
  Slots slots(*shared.control, shared.users.data());
  const Slot slot = slots.take();
  slots.share(slot);
  EXPECT_TRUE(slots.shared(slot));
  slots.release(slot);
  EXPECT_FALSE(slots.shared(slot));
  EXPECT_EQ(shared.control->slots_used.load(), 1U);
  slots.unshare(slot);
  EXPECT_EQ(shared.control->slots_used.load(), 0U);
}

TEST(Slots, SlotsAreUsedAgainWhateverLiesBeforeThem) {
  Shared shared;
  shared.users = std::vector<Slots::Users>(4096);
  shared.control->far_slots = shared.users.size();
  Slots slots(*shared.control, shared.users.data());
  for (int i = 0; i < 200; ++i) (void)slots.take();  // for good
  for (int round = 0; round < 40; ++round) {
    std::vector<Slot> taken;
    for (int i = 0; i < 200; ++i) taken.push_back(slots.take());
    for (const Slot slot : taken) slots.release(slot);
  }
  // As many as are in use at once, and a sixteenth; by one more for each that is taken: 8200.
  EXPECT_LE(shared.control->slots_end.load(), 430U);
}

TEST(Slots, SlotsWithMoreUsersThanCanBeCountedAreKept) {
  Shared shared;
  Slots slots(*shared.control, shared.users.data());
  const Slot slot = slots.take();
  for (int i = 0; i < 70'000; ++i) slots.share(slot);
  for (int i = 0; i < 70'000; ++i) slots.unshare(slot);
  EXPECT_TRUE(slots.shared(slot));
  EXPECT_NE(slots.take(), slot);
}

TEST(Slots, SlotsOfAnEndedProcessAreFreeExceptThoseOfItsChildren) {
  Shared shared;
  Slots ended(*shared.control, shared.users.data());
  Slots other(*shared.control, shared.users.data());
  ended.become(1);
  other.become(2);
  for (int i = 0; i < 10; ++i) (void)ended.take();
  const Slot inherited = ended.take();
  ended.share(inherited);
  const Slot others = other.take();
  ended.release(0);
  ended.release_all(1);
  EXPECT_EQ(shared.control->slots_used.load(), 2U);
  EXPECT_EQ(shared.control->members[1].far_slots.load(), 0U);
  EXPECT_EQ(shared.control->members[2].far_slots.load(), 1U);
  EXPECT_EQ(shared.users[inherited].count.load(), 1U);
  EXPECT_EQ(shared.users[others].count.load(), 1U);
  ended.release_all(1);
  EXPECT_EQ(shared.control->slots_used.load(), 2U) << "nothing is given back twice";
}

TEST(Budget, OneBudgetServesATree) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget parent(*shared.control, slots);
  ASSERT_TRUE(parent.join(1));
  ASSERT_TRUE(parent.try_charge(6));
  Member* const member = parent.prepare_child();
  ASSERT_NE(member, nullptr);
  EXPECT_FALSE(parent.charge_child(*member, false)) << "six and six are more than ten";
  parent.release(1);
  ASSERT_TRUE(parent.charge_child(*member, false));
  Budget child = parent;
  child.become(*member, 2);
  EXPECT_EQ(child.own(), 5U);
  EXPECT_EQ(child.free(), 0U);
  EXPECT_FALSE(child.try_charge(1));
  parent.release(2);
  EXPECT_TRUE(child.try_charge(2));
  EXPECT_EQ(parent.others(), 7U);
  parent.end(*member);
  EXPECT_EQ(parent.others(), 0U);
  EXPECT_EQ(parent.processes(), 1U);
}

/// The number of a process that has ended.
std::int32_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(Budget, TheBudgetOfAChildWhoseParentEndsEarlyIsGivenUpOrTakenAnew) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget other(*shared.control, slots);
  ASSERT_TRUE(other.join(getpid()));
  Budget parent(*shared.control, slots);
  ASSERT_TRUE(parent.join(ended_process()));
  ASSERT_TRUE(parent.try_charge(4));
  parent.managed(6);
  Member* const member = parent.prepare_child();
  ASSERT_NE(member, nullptr);
  ASSERT_TRUE(parent.charge_child(*member, false));
  EXPECT_EQ(other.others(), 8U);
  EXPECT_TRUE(other.reap());
  EXPECT_EQ(other.others(), 0U) << "neither will ever run";
  EXPECT_EQ(other.processes(), 1U);
  Budget child = parent;  // but it does
  child.become(*member, ended_process());
  EXPECT_EQ(child.own(), 4U);
  EXPECT_EQ(child.member().managed_pages.load(), 6U);
  EXPECT_EQ(other.others(), 4U);
  EXPECT_TRUE(other.reap());
  EXPECT_EQ(other.others(), 0U);
  EXPECT_EQ(shared.control->managed_total.load(), 0U);
}

TEST(Budget, ABudgetHasPlacesForManyProcessesAndSaysWhenThereAreNoMore) {
  Shared shared;
  Budget budget(*shared.control, Slots(*shared.control, shared.users.data()));
  ASSERT_TRUE(budget.join(1));
  for (std::size_t i = 1; i < Control::most_members; ++i)
    ASSERT_NE(budget.prepare_child(), nullptr) << i;
  EXPECT_EQ(budget.prepare_child(), nullptr);
  EXPECT_EQ(budget.processes(), Control::most_members);
  budget.end(shared.control->members[7]);
  EXPECT_EQ(budget.prepare_child(), &shared.control->members[7]);
}

TEST(Budget, AChildIsChargedBeyondTheLimitWhereItIsForced) {
  Shared shared(10);
  Budget parent(*shared.control, Slots(*shared.control, shared.users.data()));
  ASSERT_TRUE(parent.join(1));
  ASSERT_TRUE(parent.try_charge(8));
  Member* const child = parent.prepare_child();
  ASSERT_NE(child, nullptr);
  EXPECT_TRUE(parent.charge_child(*child, true));
  EXPECT_EQ(parent.others(), 8U);
  EXPECT_EQ(parent.free(), 0U);
}

TEST(Budget, PagesBeyondTheLimitAreChargedWhereTheyMustBeGranted) {
  Shared shared(10);
  Budget budget(*shared.control, Slots(*shared.control, shared.users.data()));
  ASSERT_TRUE(budget.join(1));
  budget.charge(12);
  EXPECT_EQ(budget.own(), 12U);
  EXPECT_EQ(budget.free(), 0U);
  EXPECT_FALSE(budget.try_charge(1));
  budget.release(0);
  budget.release(5);
  EXPECT_EQ(budget.free(), 3U);
  EXPECT_EQ(shared.control->counts[static_cast<std::size_t>(Count::near_peak)].load(), 12U);
}

TEST(Budget, AProcessThatExecutesAnotherProgramGivesUpWhatItHad) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget before(*shared.control, slots);
  ASSERT_TRUE(before.join(getpid()));
  before.charge(4);
  before.managed(6);
  Budget after(*shared.control, slots);
  ASSERT_TRUE(after.join(getpid()));
  EXPECT_EQ(after.own(), 0U);
  EXPECT_EQ(after.free(), 10U);
  EXPECT_EQ(after.processes(), 1U);
  EXPECT_EQ(shared.control->managed_total.load(), 0U);
}

TEST(Budget, AForkedProcessThatExecutesAnotherProgramLeavesItsPlaceToItsParent) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget parent(*shared.control, slots);
  ASSERT_TRUE(parent.join(getppid()));
  Member* const place = parent.prepare_child();
  ASSERT_NE(place, nullptr);
  Budget child = parent;
  child.become(*place, getpid());
  child.charge(3);
  Budget other_program(*shared.control, slots);
  ASSERT_TRUE(other_program.join(getpid()));
  EXPECT_EQ(other_program.others(), 3U) << "the parent still reads the old place's slots";
  parent.end(*place);
  EXPECT_EQ(other_program.others(), 0U);
}

TEST(Budget, TheEndOfAProcessIsSeenByAnother) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget one(*shared.control, slots);
  ASSERT_TRUE(one.join(getpid()));
  Budget ended(*shared.control, slots);
  ASSERT_TRUE(ended.join(ended_process()));
  ended.charge(5);
  ended.want(2);
  EXPECT_EQ(one.wanted(), 2U);
  EXPECT_TRUE(one.reap());
  EXPECT_EQ(one.others(), 0U);
  EXPECT_EQ(one.wanted(), 0U) << "it waits no more";
  EXPECT_FALSE(one.reap());
}

TEST(Budget, AProcessInANamespaceOfItsOwnGivesUpNobodysPlace) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget ended(*shared.control, slots);
  const std::int32_t gone = ended_process();
  ASSERT_TRUE(ended.join(gone));
  Budget inside(*shared.control, slots);
  const std::int32_t other = gone == getpid() + 1 ? getpid() + 2 : getpid() + 1;
  ASSERT_TRUE(inside.join(other)) << "the number in /proc is not its own";
  EXPECT_FALSE(inside.reap());
  EXPECT_EQ(inside.processes(), 2U);
}

TEST(Budget, AChildSeesTheEndOfOthersAsItsParentDoes) {
  Shared shared(10);
  const Slots slots(*shared.control, shared.users.data());
  Budget ended(*shared.control, slots);
  ASSERT_TRUE(ended.join(ended_process()));
  Budget parent(*shared.control, slots);
  ASSERT_TRUE(parent.join(getpid()));
  Member* const place = parent.prepare_child();
  ASSERT_NE(place, nullptr);
  ended.charge(3);
  Budget child = parent;
  child.become(*place, getpid());
  EXPECT_EQ(child.index(), parent.index() + 1);
  ended.member().process = ended_process();
  EXPECT_TRUE(child.reap());
  EXPECT_EQ(child.others(), 0U);
}

TEST(Budget, AFullTreeHasRoomAgainWhenAProcessHasEnded) {
  Shared shared;
  const Slots slots(*shared.control, shared.users.data());
  Budget budget(*shared.control, slots);
  ASSERT_TRUE(budget.join(getpid()));
  while (budget.prepare_child() != nullptr) {
  }
  shared.control->members[9].process = ended_process();
  shared.control->members[9].forked_by = 0;
  EXPECT_EQ(budget.prepare_child(), &shared.control->members[9]);
  EXPECT_EQ(budget.prepare_child(), nullptr);
}

TEST(Budget, AChildWithoutAPlaceEndsWithAMessage) {
  Shared shared;
  Budget parent(*shared.control, Slots(*shared.control, shared.users.data()));
  ASSERT_TRUE(parent.join(1));
  Member* const place = parent.prepare_child();
  ASSERT_NE(place, nullptr);
  place->process = 2;  // another process has it by now
  while (parent.prepare_child() != nullptr) {
  }
  Budget child = parent;
  EXPECT_EXIT(child.become(*place, 3), ::testing::ExitedWithCode(1),
              "more than 4096 processes in one tree");
}

TEST(Budget, UnmanagedPagesAreThePeaksOfAllProcessesTogether) {
  Shared shared;
  const Slots slots(*shared.control, shared.users.data());
  Budget one(*shared.control, slots);
  Budget other(*shared.control, slots);
  ASSERT_TRUE(one.join(1) && other.join(2));
  one.unmanaged(7);
  other.unmanaged(5);
  one.unmanaged(3);
  EXPECT_EQ(shared.control->counts[static_cast<std::size_t>(Count::unmanaged_peak)].load(), 12U);
}

}  // namespace test_file
}  // namespace nearfar::tier

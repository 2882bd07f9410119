// What the pager's service keeps: faults that wait, changes that wait for a fork, and discards that
// wait for either.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tier/service/discard_gate.h"
#include "tier/service/held_changes.h"
#include "tier/service/waiting_faults.h"

namespace nearfar::tier {
namespace test_file {

constexpr os::Place page = os::page_bytes;

WaitingFault fault_at(os::Place at, std::size_t worker = 0) {
  return {.at = at, .touch = os::Touch::read, .thread = 1, .worker = worker, .since = 0};
}
constexpr auto any = [](const WaitingFault&) { return true; };

TEST(TierWaitingFaults, AreTakenByTheirWorkerInTheOrderInWhichTheyCame) {
  WaitingFaults faults;
  ASSERT_TRUE(faults.reserve(8, 2));
  faults.add(fault_at(1 * page, 0));
  faults.add(fault_at(2 * page, 1));
  faults.add(fault_at(3 * page, 0));
  EXPECT_TRUE(faults.has_any_of(1));
  EXPECT_EQ(faults.take_first(1, any)->at, 2 * page);
  EXPECT_FALSE(faults.has_any_of(1));
  EXPECT_FALSE(faults.take_first(1, any).has_value());
  EXPECT_EQ(faults.take_first(0, any)->at, 1 * page);
  EXPECT_EQ(faults.take_first(0, any)->at, 3 * page);
  EXPECT_EQ(faults.size(), 0U);
}

TEST(TierWaitingFaults, ThatCannotBeServedAreLeftForLater) {
  WaitingFaults faults;
  ASSERT_TRUE(faults.reserve(8, 1));
  faults.add(fault_at(1 * page));
  faults.add(fault_at(2 * page));
  const auto second = [](const WaitingFault& fault) { return fault.at == 2 * page; };
  EXPECT_EQ(faults.take_first(0, second)->at, 2 * page);
  EXPECT_FALSE(faults.take_first(0, second).has_value());
  EXPECT_EQ(faults.size(), 1U);
}

TEST(TierWaitingFaults, StayInOrderWhenSomeAreServed) {
  WaitingFaults faults;
  ASSERT_TRUE(faults.reserve(8, 1));
  for (os::Place at = 1; at <= 5; ++at) faults.add(fault_at(at * page));
  faults.serve_all([](const WaitingFault& fault) { return fault.at / page % 2 == 0; });
  std::vector<os::Place> left;
  faults.serve_all([&](const WaitingFault& fault) {
    left.push_back(fault.at / page);
    return true;
  });
  EXPECT_EQ(left, (std::vector<os::Place>{1, 3, 5}));
  EXPECT_EQ(faults.size(), 0U);
}

TEST(TierWaitingFaults, HaveRoomForAsManyAsWasReserved) {
  WaitingFaults faults;
  ASSERT_TRUE(faults.reserve(2, 1));
  EXPECT_TRUE(faults.has_room_for(2));
  faults.add(fault_at(page));
  EXPECT_TRUE(faults.has_room_for(1));
  EXPECT_FALSE(faults.has_room_for(2));
  faults.clear();
  EXPECT_TRUE(faults.reserve(2, 1)) << "the room is kept";
  EXPECT_TRUE(faults.has_room_for(2));
}

os::Message change(os::Message::Kind kind, os::Place begin, os::Place end, os::Place to = 0) {
  return {.kind = kind, .begin = begin, .end = end, .to = to};
}

TEST(TierHeldChanges, ConcernThePagesOfTheirRangeAndWhereThatHasMoved) {
  HeldChanges held;
  ASSERT_TRUE(held.reserve(4));
  EXPECT_FALSE(held.touches(page));
  held.add(change(os::Message::Kind::moved, 2 * page, 4 * page, 8 * page));
  EXPECT_FALSE(held.touches(1 * page));
  EXPECT_TRUE(held.touches(2 * page));
  EXPECT_TRUE(held.touches(3 * page));
  EXPECT_FALSE(held.touches(4 * page));
  EXPECT_TRUE(held.touches(8 * page));
  EXPECT_TRUE(held.touches(9 * page));
  EXPECT_FALSE(held.touches(10 * page));
}

TEST(TierHeldChanges, SayWhetherMappingsAreGoneUntilTheyAreCleared) {
  HeldChanges held;
  ASSERT_TRUE(held.reserve(2));
  held.add(change(os::Message::Kind::removed, page, 2 * page));
  EXPECT_FALSE(held.has_unmaps());
  EXPECT_TRUE(held.has_room_for(1));
  held.add(change(os::Message::Kind::unmapped, page, 2 * page));
  EXPECT_TRUE(held.has_unmaps());
  EXPECT_FALSE(held.has_room_for(1));
  EXPECT_EQ(held.all().size(), 2U);
  held.clear();
  EXPECT_FALSE(held.has_unmaps());
  EXPECT_TRUE(held.all().empty());
  EXPECT_TRUE(held.reserve(2)) << "the room is kept";
}

TEST(TierDiscardGate, HoldsDiscardsBackWhileAForkGoesOn) {
  DiscardGate gate;
  gate.start();
  gate.wait_for_fork();
  EXPECT_TRUE(gate.is_open());
  gate.close();
  EXPECT_FALSE(gate.is_open());
  EXPECT_TRUE(gate.is_awaited());
  gate.stop_waiting();
  EXPECT_FALSE(gate.is_awaited());
  std::atomic<bool> passed{false};
  std::thread program([&] {
    gate.wait_for_fork();
    passed.store(true);
  });
  EXPECT_FALSE(passed.load());
  gate.open();
  program.join();
  EXPECT_TRUE(passed.load());
}

TEST(TierDiscardGate, LetsOneFaultBeServedFirstWhereDiscardsLeaveItNoMoment) {
  DiscardGate gate;
  gate.start();
  gate.wait_for_faults();  // no fault has been refused
  for (int i = 0; i < 8; ++i) gate.report_fault(false);
  std::thread program([&] { gate.wait_for_faults(); });
  gate.report_fault(true);
  program.join();
  gate.wait_for_faults();  // one has been served
  gate.report_fault(true);
}

TEST(TierDiscardGate, DoesNotWaitForLongForAFaultThatMayNeverBeServed) {
  DiscardGate gate;
  gate.start();
  for (int i = 0; i < 8; ++i) gate.report_fault(false);
  gate.wait_for_faults();
  gate.start();
  gate.wait_for_faults();
}

}  // namespace test_file
}  // namespace nearfar::tier

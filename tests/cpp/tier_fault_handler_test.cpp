// What one fault does: which thread it wakes, and when it has to be served again.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "pager_rig.h"

namespace nearfar::tier {
namespace test_file {

using Kind = FakePages::Call::Kind;

void write_all(PagerRig& rig, PageNumber pages) {
  for (PageNumber page = 0; page < pages; ++page) ASSERT_TRUE(rig.touch(page, true));
}

TEST(FaultHandler, BringsZerosToAFreshPage) {
  PagerRig rig({.limit = 64});
  EXPECT_TRUE(rig.touch(5, false));
  EXPECT_EQ(rig.count(Count::first_touches), 1U);
  EXPECT_EQ(rig.count(Count::faults), 1U);
}

TEST(FaultHandler, BringsBackWhatLeft) {
  PagerRig rig({.limit = 64});
  write_all(rig, 256);
  write_all(rig, 256);  // the rig checks each word before it writes another
  EXPECT_GT(rig.count(Count::copies_in), 0U);
  EXPECT_LE(rig.count(Count::near_peak), 64U);
}

TEST(FaultHandler, WakesASecondThreadThatTouchedThePageMeanwhile) {
  PagerRig rig({.limit = 64});
  ASSERT_TRUE(rig.touch(5, false));
  rig.pages().records = true;
  EXPECT_TRUE(rig.pager().fault(rig.place(5), os::Touch::read));
  EXPECT_EQ(rig.pages().count(Kind::wake), 1U);
}

TEST(FaultHandler, LeavesTheWakingToItsCallerWhereAllAreToBeWokenTogether) {
  PagerRig rig({.limit = 64});
  ASSERT_TRUE(rig.touch(5, false));
  rig.pages().records = true;
  EXPECT_TRUE(rig.pager().fault(rig.place(5), os::Touch::read, os::Waking::later));
  EXPECT_EQ(rig.pages().count(Kind::wake), 0U);
  rig.pager().wake_all();
  EXPECT_EQ(rig.pages().count(Kind::wake), 1U);
}

TEST(FaultHandler, ServesNothingWhileAChangeHasNotBeenRead) {
  PagerRig rig({.limit = 64});
  write_all(rig, 256);
  const std::uint64_t faults = rig.count(Count::faults);
  rig.pages().changing = true;
  for (const PageNumber page : {0U, 1U, 250U, 251U, 300U})
    if (!rig.pages().at(rig.place(page)).present) {
      EXPECT_FALSE(rig.pager().fault(rig.place(page), os::Touch::write)) << page;
    }
  EXPECT_EQ(rig.count(Count::faults), faults);
  rig.pages().changing = false;
  write_all(rig, 256);
}

TEST(FaultHandler, PutsZerosWhereTheProgramHasDroppedAPage) {
  PagerRig rig({.limit = 64});
  ASSERT_TRUE(rig.touch(5, true));
  rig.memory().advise(rig.place(5), os::page_bytes, MADV_DONTNEED);
  rig.word(5) = 0;
  EXPECT_TRUE(rig.touch(5, false));
}

TEST(FaultHandler, LetsAWriteToAProtectedPageGoOn) {
  PagerRig rig({.limit = 64});
  write_all(rig, 256);
  // Read twice, pages leave unchanged, and come write-protected from then on.
  for (int round = 0; round < 3; ++round)
    for (PageNumber page = 0; page < 256; page += 2) ASSERT_TRUE(rig.touch(page, false));
  EXPECT_GT(rig.count(Count::protected_ins), 0U);
  for (PageNumber page = 254; page > 230; page -= 2) ASSERT_TRUE(rig.touch(page, true));
  EXPECT_GT(rig.count(Count::protected_writes), 0U);
}

TEST(FaultHandler, LeavesAPageToTheKernelThatTheProgramHasMappedAnew) {
  PagerRig rig({.limit = 64});
  rig.pager().remap().on_unmapped(rig.place(8), rig.place(16));
  EXPECT_FALSE(rig.pager().remap().manages(rig.place(8)));
  EXPECT_TRUE(rig.pager().fault(rig.place(9), os::Touch::read));
  EXPECT_FALSE(rig.pages().at(rig.place(9)).registered);
  EXPECT_TRUE(rig.pager().remap().manages(rig.place(16)));
}

TEST(FaultHandler, GrantsPagesBeyondTheLimitWhereNoneCanLeave) {
  PagerRig rig({.limit = 64});
  for (PageNumber page = 0; page < 80; ++page) {
    ASSERT_TRUE(rig.pager().fault(rig.place(page), os::Touch::write));
    EXPECT_TRUE(rig.pages().at(rig.place(page)).present);
    rig.pages()[rig.place(page)].refuses_move = -EBUSY;
  }
  EXPECT_GT(rig.count(Count::over_budget), 0U);
}

TEST(ConcurrentCopies, AreMadeOfFarPagesThatContinueNoStream) {
  PagerRig rig({.limit = 64});
  write_all(rig, 256);
  Pager& pager = rig.pager();
  while (pager.evict_in_background()) {
  }
  EXPECT_EQ(pager.begin_copy(rig.place(300), os::Touch::read), nullptr);  // fresh
  PageCopy* const copy = pager.begin_copy(rig.place(40), os::Touch::write);
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(pager.begin_copy(rig.place(40), os::Touch::read), nullptr);  // begun already
  EXPECT_TRUE(pager.copy(*copy));
  copy->left.store(true);
  pager.complete_copies();
  EXPECT_FALSE(pager.in_flight().any());
  EXPECT_TRUE(rig.touch(40, false));
}

TEST(ConcurrentCopies, LeaveThePageFarWhereTheKernelRefuses) {
  PagerRig rig({.limit = 64});
  write_all(rig, 256);
  Pager& pager = rig.pager();
  while (pager.evict_in_background()) {
  }
  const std::uint64_t charged = pager.budget().own();
  PageCopy* const copy = pager.begin_copy(rig.place(40), os::Touch::read);
  ASSERT_NE(copy, nullptr);
  rig.pages().changing = true;
  EXPECT_FALSE(pager.copy(*copy));
  copy->left.store(true);
  pager.complete_copies();
  EXPECT_EQ(pager.budget().own(), charged);
  rig.pages().changing = false;
  EXPECT_TRUE(rig.touch(40, false));
}

}  // namespace test_file
}  // namespace nearfar::tier

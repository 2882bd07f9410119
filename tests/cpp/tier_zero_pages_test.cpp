// Pages that are read before they were ever written: the kernel's one page of zeros stands for
// them.

#include <gtest/gtest.h>

#include "pager_rig.h"

namespace nearfar::tier {
namespace test_file {

class ZeroPagesTest : public ::testing::Test {
 protected:
  ZeroPagesTest() { rig_.uffd().can_show_zeros = true; }

  [[nodiscard]] bool is_shown(PageNumber page) {
    const FakePages::Info found = rig_.pages().at(rig_.place(page));
    return found.present && found.zeros;
  }
  [[nodiscard]] std::uint64_t charged() { return rig_.pager().budget().own(); }
  [[nodiscard]] bool write(PageNumber page) { return rig_.touch(page, true); }
  [[nodiscard]] bool read(PageNumber page) { return rig_.touch(page, false); }

  PagerRig rig_{{.limit = 64}};
};

TEST_F(ZeroPagesTest, ReadingFreshMemoryTakesNoNearPage) {
  const std::uint64_t before = charged();
  for (PageNumber page = 0; page < 2000; ++page) ASSERT_TRUE(read(page));
  EXPECT_EQ(charged(), before);
  EXPECT_EQ(rig_.count(Count::evictions), 0U);
  EXPECT_EQ(rig_.count(Count::first_touches), 0U);
  EXPECT_GE(rig_.count(Count::zero_reads), 2000U);
}

TEST(ZeroPagesInOrder, AreShownMoreAndMoreAtAFault) {
  PagerRig rig({.limit = 4096});
  rig.uffd().can_show_zeros = true;
  for (PageNumber page = 0; page < 500; ++page) ASSERT_TRUE(rig.touch(page, false));
  EXPECT_LT(rig.faults(), 30U);
}

TEST(ZeroPagesInOrder, AreReplacedMoreAndMoreAtAFaultWhenTheyAreWritten) {
  PagerRig rig({.limit = 4096});
  rig.uffd().can_show_zeros = true;
  for (PageNumber page = 0; page < 500; ++page) ASSERT_TRUE(rig.touch(page, false));
  const std::uint64_t before = rig.pager().budget().own();
  const std::uint64_t faults = rig.faults();
  for (PageNumber page = 0; page < 500; ++page) ASSERT_TRUE(rig.touch(page, true));
  EXPECT_LT(rig.faults() - faults, 30U);
  EXPECT_EQ(rig.count(Count::zero_writes), rig.count(Count::first_touches));
  EXPECT_GE(rig.pager().budget().own(), before + 500);
}

TEST_F(ZeroPagesTest, PagesReplacedAheadOfAWriteThatNeverCameLeaveAsZeros) {
  for (PageNumber page = 0; page < 40; ++page) ASSERT_TRUE(read(page));
  for (PageNumber page = 0; page < 20; ++page) ASSERT_TRUE(write(page));
  for (PageNumber page = 1000; page < 1200; ++page) ASSERT_TRUE(write(page));
  EXPECT_FALSE(rig_.pages().at(rig_.place(5)).present);
  for (PageNumber page = 0; page < 40; ++page) EXPECT_TRUE(read(page)) << page;
}

TEST_F(ZeroPagesTest, ARunOfWritesEndsWhereAPageIsNotShown) {
  PagerRig rig({.limit = 4096});
  rig.uffd().can_show_zeros = true;
  for (PageNumber page = 0; page < 8; ++page) ASSERT_TRUE(rig.touch(page, false));
  // Where the program has never read it, or has discarded what it was shown.
  for (PageNumber page = 8; page < 40; ++page) rig.pages()[rig.place(page)] = {.registered = true};
  for (PageNumber page = 0; page < 8; ++page) ASSERT_TRUE(rig.touch(page, true));
  EXPECT_EQ(rig.count(Count::zero_writes), 8U);
  EXPECT_EQ(rig.count(Count::first_touches), 8U);
}

TEST_F(ZeroPagesTest, AWriteAfterAReadIsChargedAndKeepsWhatItWrote) {
  ASSERT_TRUE(read(5));
  const std::uint64_t before = charged();
  ASSERT_TRUE(write(5));
  EXPECT_GE(charged(), before + 1);
  EXPECT_FALSE(is_shown(5));
  EXPECT_EQ(rig_.count(Count::zero_writes), 1U);
  EXPECT_EQ(rig_.count(Count::first_touches), 1U);
  for (PageNumber page = 1000; page < 1200; ++page) ASSERT_TRUE(write(page));
  EXPECT_FALSE(rig_.pages().at(rig_.place(5)).present);
  EXPECT_TRUE(read(5));  // the rig compares what is there with what it wrote
}

TEST_F(ZeroPagesTest, AWriteThatHasWaitedSinceBeforeThePageWasShownIsCharged) {
  ASSERT_TRUE(read(5));
  const std::uint64_t before = charged();
  // The kernel told of it when nothing was there, and so of no protection.
  ASSERT_TRUE(rig_.pager().fault(rig_.place(5), os::Touch::write));
  EXPECT_GE(charged(), before + 1);
  ASSERT_TRUE(write(5));
  EXPECT_EQ(rig_.count(Count::zero_writes), 1U);
  for (PageNumber page = 1000; page < 1200; ++page) ASSERT_TRUE(write(page));
  EXPECT_FALSE(rig_.pages().at(rig_.place(5)).present);
  EXPECT_TRUE(read(5));
}

TEST_F(ZeroPagesTest, APageThatIsWrittenBeforeItIsProtectedIsFoundAndCharged) {
  rig_.pages().after_zeros = [&](os::Place at) { rig_.pages()[at].zeros = false; };
  const std::uint64_t before = charged();
  ASSERT_TRUE(read(7));
  EXPECT_GE(charged(), before + 1);
  rig_.pages().after_zeros = nullptr;
  EXPECT_TRUE(write(7));  // protected, though it has been written to
  EXPECT_EQ(rig_.count(Count::near_peak), charged());
}

TEST_F(ZeroPagesTest, AChangeThatHasNotBeenReadPutsProtectionOffUntilItHas) {
  rig_.pages().after_zeros = [&](os::Place) { rig_.pages().changing = true; };
  EXPECT_FALSE(rig_.pager().fault(rig_.place(9), os::Touch::read));
  EXPECT_FALSE(rig_.pager().fault(rig_.place(300), os::Touch::write));  // that comes first
  EXPECT_FALSE(rig_.pages().at(rig_.place(9)).write_protected);
  rig_.pages().after_zeros = nullptr;
  rig_.pages().changing = false;
  EXPECT_TRUE(rig_.pager().fault(rig_.place(300), os::Touch::write));
  EXPECT_TRUE(rig_.pages().at(rig_.place(9)).write_protected);
  EXPECT_TRUE(read(9));
}

TEST_F(ZeroPagesTest, AProgramThatWritesWhatItHasReadGetsPagesAtOnceAfterAWhile) {
  PagerRig rig({.limit = 512});
  rig.uffd().can_show_zeros = true;
  for (PageNumber page = 0; page < 4000; page += 2)
    ASSERT_TRUE(rig.touch(page, false) && rig.touch(page, true));
  EXPECT_LT(rig.count(Count::zero_writes), 400U);
}

TEST_F(ZeroPagesTest, WhatIsMovedTakesThePlaceOfZerosThatWereRead) {
  ASSERT_TRUE(write(3));
  ASSERT_TRUE(read(1003));
  ASSERT_TRUE(is_shown(1003));
  PageNumber passed = 0;
  const auto& move = [&] {
    return rig_.pager().ranges().move(rig_.place(0), rig_.place(1000), 8 * os::page_bytes, passed);
  };
  ASSERT_EQ(move(), Outcome::yes);
  rig_.word(1003) = std::exchange(rig_.word(3), 0);
  EXPECT_TRUE(read(1003));
}

TEST_F(ZeroPagesTest, WhileTheProcessForksAWriteIsNotedAndCharged) {
  ASSERT_TRUE(read(5));
  ASSERT_TRUE(rig_.pager().fork().pause());
  ASSERT_TRUE(write(5));
  rig_.pager().fork().resume();
  EXPECT_EQ(rig_.count(Count::first_touches), 1U);
  for (PageNumber page = 1000; page < 1200; ++page) ASSERT_TRUE(write(page));
  EXPECT_TRUE(read(5));
}

/// What is charged after a fork in which `before_write` comes before a write to page 5, which was
/// shown as zeros or has left as such.
template <typename Before>
std::uint64_t charge_after_fork(os::Eviction eviction, const Before& before_write) {
  PagerRig rig({.limit = 64, .eviction = eviction});
  rig.uffd().can_show_zeros = true;
  EXPECT_TRUE(rig.touch(6, true));
  if (eviction == os::Eviction::copy) {
    rig.clear(5);
  } else {
    EXPECT_TRUE(rig.touch(5, false));
  }
  for (PageNumber page = 1000; page < 1200; ++page) EXPECT_TRUE(rig.touch(page, true));
  EXPECT_EQ(rig.pages().at(rig.place(5)).present, eviction == os::Eviction::move);
  EXPECT_TRUE(rig.pager().fork().pause());
  before_write(rig);
  EXPECT_TRUE(rig.touch(5, true));
  rig.pager().fork().resume();
  return rig.pager().budget().own();
}

TEST(ZeroPagesInAFork, AreChargedOnceWhereTheyLeftWhileAWriteToThemWaited) {
  constexpr os::Eviction eviction = os::Eviction::copy;
  const auto stale = [](PagerRig& rig) {
    EXPECT_TRUE(rig.pager().fault(rig.place(5), os::Touch::write_protected));
    EXPECT_TRUE(rig.pages().at(rig.place(5)).present);
  };
  EXPECT_EQ(charge_after_fork(eviction, stale), charge_after_fork(eviction, [](PagerRig&) {}));
}

TEST(ZeroPagesInAFork, AreChargedOnceWhereTheProgramDropsThemWhileAWriteToThemWaits) {
  constexpr os::Eviction eviction = os::Eviction::move;
  const auto dropped = [](PagerRig& rig) {
    rig.pages().before_unprotect = [&](os::Place at) { rig.pages()[at].present = false; };
    EXPECT_TRUE(rig.pager().fault(rig.place(5), os::Touch::write_protected));
    rig.pages().before_unprotect = nullptr;
    EXPECT_FALSE(rig.pages().at(rig.place(5)).present);
  };
  EXPECT_EQ(charge_after_fork(eviction, dropped), charge_after_fork(eviction, [](PagerRig&) {}));
}

TEST_F(ZeroPagesTest, AForkedChildIsShownNoneThatItsPagerDoesNotProtect) {
  for (PageNumber page = 0; page < 40; ++page) ASSERT_TRUE(read(page));
  ASSERT_TRUE(write(20));
  ASSERT_TRUE(rig_.pager().fork().pause());
  // The kernel protects nothing in a child.
  rig_.pages().each(rig_.place(0), 40 * os::page_bytes,
                    [](FakePages::Info& page) { page.write_protected = false; });
  rig_.pager().fork().become_child(rig_.place(2000), 1);
  rig_.pager().fork().register_in_child();
  EXPECT_FALSE(rig_.pages().at(rig_.place(5)).present);
  EXPECT_TRUE(rig_.pages().at(rig_.place(20)).present);
  EXPECT_TRUE(read(5));
  EXPECT_TRUE(rig_.pages().at(rig_.place(5)).write_protected);
}

TEST(ZeroPagesElsewhere, ComeAsBeforeWhereTheKernelCannotShowOrProtectThem) {
  for (const RigOptions& options :
       {RigOptions{.limit = 64}, RigOptions{.limit = 64, .eviction = os::Eviction::copy},
        RigOptions{.limit = 64, .faults = os::Faults::signal},
        RigOptions{.limit = 64, .placement = "raminate"}}) {
    PagerRig rig(options);
    const bool shows = options.eviction == os::Eviction::copy ||
                       options.faults == os::Faults::signal || options.placement != nullptr;
    rig.uffd().can_show_zeros = shows;
    for (PageNumber page = 0; page < 32; ++page) ASSERT_TRUE(rig.touch(page, false));
    EXPECT_EQ(rig.count(Count::zero_reads), 0U);
    EXPECT_EQ(rig.count(Count::first_touches), 32U);
  }
}

}  // namespace test_file
}  // namespace nearfar::tier

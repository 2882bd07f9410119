// Windows that the pager opens for a program which fills memory in order, and takes back.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

/// A window of one group.
constexpr Windows::Window group_at(PageNumber first) {
  return {.begin = first, .end = first + static_cast<PageNumber>(huge_pages)};
}

class FaultWindowsTest : public testing::Test {
 protected:
  FaultWindowsTest() { use(448, 512); }

  /// Pages [first, last) are in use.
  void use(PageNumber first, PageNumber last) {
    for (PageNumber page = first; page < last; ++page) rig_.bring_in(page);
  }
  /// Opens a window as a fault does.
  void open(Windows::Window window, PageNumber touched) {
    ASSERT_TRUE(state_.budget.try_charge(windows_.charge_of(window)));
    windows_.grant(window, touched);
  }
  /// The kernel serves first touches of pages [first, last).
  void touch(PageNumber first, PageNumber last, bool huge) {
    rig_.pages().each(rig_.place(first), (last - first) * os::page_bytes, [=](FakePages::Info& at) {
      at.present = true;
      at.huge = huge;
    });
  }
  /// Opens a window, has the program fill it, and takes it back.
  void fill_one(PageNumber first, bool huge) {
    open(group_at(first), 512);
    touch(first, first + huge_pages, huge);
    windows_.close_all();
  }
  [[nodiscard]] bool may_be_huge(PageNumber page) {
    return rig_.pages().at(rig_.place(page)).wants_huge;
  }

  PartsRig rig_{{.pages = 16384, .limit = 16384}};
  PagerState& state_ = rig_.parts.state;
  FaultWindows& windows_ = rig_.parts.windows;
  IncomingGroups& incoming_ = rig_.parts.incoming;
};

TEST_F(FaultWindowsTest, AWindowLiesBehindTheGroupThatTheProgramBegins) {
  const Windows::Window window = windows_.plan(512);
  EXPECT_EQ(window.begin, 1024U);
  EXPECT_EQ(window.end, 1536U);
}

TEST_F(FaultWindowsTest, AWindowIsTheTouchedGroupItselfIfThatWasExpected) {
  windows_.expect_fresh(512);
  const Windows::Window window = windows_.plan(512);
  EXPECT_EQ(window.begin, 512U);
  open(window, 512);
  EXPECT_TRUE(windows_.holds(512));
  EXPECT_FALSE(incoming_.is_expected(512));
  EXPECT_TRUE(may_be_huge(512));
}

TEST_F(FaultWindowsTest, NoWindowIsOpenedOverPagesThatAreShownAsZeros) {
  state_.shows_zeros = true;
  rig_.pages()[rig_.place(2000)] = {.present = true, .zeros = true, .registered = true};
  open(group_at(512), 512);
  EXPECT_EQ(windows_.plan(1024).pages(), 0U) << "1536 to 2559 would be the window";
  rig_.pages()[rig_.place(2000)].present = false;
  rig_.pages()[rig_.place(2100)] = {.present = true, .zeros = true, .registered = true};
  EXPECT_EQ(windows_.plan(1024).pages(), huge_pages) << "up to the group that has one";
}

TEST_F(FaultWindowsTest, AWindowBehindAnotherIsTwiceAsLarge) {
  open(group_at(512), 512);
  const Windows::Window window = windows_.plan(1024);
  EXPECT_EQ(window.begin, 1536U);
  EXPECT_EQ(window.pages(), 2 * huge_pages);
}

TEST_F(FaultWindowsTest, NoWindowIsOpenedWhereTheProgramDoesNotFillMemoryInOrder) {
  EXPECT_EQ(windows_.plan(513).pages(), 0U) << "not the first page of a group";
  EXPECT_EQ(windows_.plan(0).pages(), 0U) << "nothing lies before it";
  state_.discard_and_uncharge(480);
  EXPECT_EQ(windows_.plan(512).pages(), 0U) << "a page before it is not in use";
}

TEST_F(FaultWindowsTest, NoWindowIsOpenedWithoutHugePages) {
  state_.has_huge_pages = false;
  EXPECT_EQ(windows_.plan(512).pages(), 0U);
  windows_.expect_fresh(1024);
  EXPECT_FALSE(incoming_.expects_any());
}

TEST_F(FaultWindowsTest, NoWindowIsOpenedOverUsedPagesOrAnotherMappingOrAnotherWindow) {
  use(1300, 1301);
  EXPECT_EQ(windows_.plan(512).pages(), 0U);
  windows_.expect_fresh(1024);
  EXPECT_FALSE(incoming_.expects_any());
  use(2048 - 64, 2048);
  ASSERT_TRUE(state_.add_unmanaged(rig_.place(3000), rig_.place(3001)));
  EXPECT_EQ(windows_.plan(2048).pages(), 0U);
  windows_.expect_fresh(2560);
  EXPECT_FALSE(incoming_.expects_any());
  use(4096 - 64, 4096);
  open(group_at(4608), 4096);
  EXPECT_EQ(windows_.plan(4096).pages(), 0U);
  windows_.expect_fresh(4608);
  EXPECT_FALSE(incoming_.expects_any());
  windows_.expect_fresh(5120);
  EXPECT_TRUE(incoming_.is_expected(5120));
}

TEST_F(FaultWindowsTest, NoWindowReachesBeyondTheRegion) {
  use(16384 - 512 - 64, 16384 - 512);
  EXPECT_EQ(windows_.plan(16384 - 512).pages(), 0U);
  windows_.expect_fresh(16384);
  EXPECT_FALSE(incoming_.expects_any());
}

TEST_F(FaultWindowsTest, AWindowEndsBeforeTheFirstUsedPage) {
  open(group_at(512), 512);
  use(2200, 2201);
  const Windows::Window window = windows_.plan(1024);
  EXPECT_EQ(window.begin, 1536U);
  EXPECT_EQ(window.end, 2048U);
}

TEST_F(FaultWindowsTest, AnOpenWindowIsChargedInFullAndNotWatched) {
  const std::uint64_t charged = rig_.charged();
  open(group_at(1024), 512);
  EXPECT_EQ(rig_.charged(), charged + huge_pages + state_.table.most_use());
  EXPECT_FALSE(rig_.pages().at(rig_.place(1024)).registered);
  EXPECT_TRUE(may_be_huge(1024));
}

TEST_F(FaultWindowsTest, AWindowThatTheKernelStillWatchesIsNotOpen) {
  const std::uint64_t charged = rig_.charged();
  rig_.pages().unregister_error = -ENOMEM;
  open(group_at(1024), 512);
  EXPECT_FALSE(windows_.holds(1024));
  EXPECT_EQ(rig_.charged(), charged);
  EXPECT_FALSE(may_be_huge(1024));
}

TEST_F(FaultWindowsTest, OfAWindowThatIsTakenBackTouchedPagesAreResident) {
  open(group_at(1024), 512);
  const std::uint64_t charged = rig_.charged();
  for (PageNumber page = 1024; page < 1224; page += 2) touch(page, page + 1, false);
  windows_.close(1100, 1101);
  EXPECT_EQ(windows_.open().size(), 0U);
  EXPECT_EQ(rig_.charged(), charged - (huge_pages - 100));
  EXPECT_EQ(rig_.count(Count::window_touches), 100U);
  EXPECT_EQ(rig_.state_of(1222), State::near);
  EXPECT_EQ(rig_.state_of(1223), State::fresh);
  EXPECT_TRUE(rig_.pages().at(rig_.place(1223)).registered);
  EXPECT_FALSE(rig_.parts.huge.leaves_whole(1024));
}

TEST_F(FaultWindowsTest, AFilledWindowOfHugePagesLeavesAsOne) {
  fill_one(1024, true);
  EXPECT_TRUE(rig_.parts.huge.leaves_whole(1024));
  EXPECT_EQ(rig_.state_of(1535), State::near);
}

TEST_F(FaultWindowsTest, AWindowOfAnotherMappingIsThePagersNoMore) {
  open(group_at(1024), 512);
  const std::uint64_t charged = rig_.charged();
  rig_.pages().register_error = -EINVAL;
  windows_.close(1024, 1025);
  EXPECT_FALSE(windows_.holds(1024));
  EXPECT_FALSE(state_.is_managed(rig_.place(1024)));
  EXPECT_EQ(rig_.charged(), charged - huge_pages);
}

TEST_F(FaultWindowsTest, OnlyWindowsOfTheRangeAreTakenBack) {
  open(group_at(1024), 512);
  open(group_at(2048), 512);
  windows_.close(1536, 2048);
  EXPECT_EQ(windows_.open().size(), 2U);
  windows_.close(1535, 2049);
  EXPECT_EQ(windows_.open().size(), 0U);
}

TEST_F(FaultWindowsTest, TheOldestWindowGivesWayWhereThereAreTooMany) {
  for (PageNumber i = 0; i <= Windows::most; ++i) open(group_at((i + 2) * huge_pages), 512);
  EXPECT_EQ(windows_.open().size(), Windows::most);
  EXPECT_FALSE(windows_.holds(1024));
  EXPECT_TRUE(windows_.holds(1536));
}

TEST_F(FaultWindowsTest, AllButAModestWindowIsSurplus) {
  EXPECT_FALSE(windows_.close_surplus());
  open(group_at(1024), 512);
  EXPECT_FALSE(windows_.close_surplus());
  open(group_at(2048), 512);
  EXPECT_TRUE(windows_.close_surplus());
  EXPECT_TRUE(windows_.holds(2048));
  EXPECT_FALSE(windows_.holds(1024));
  windows_.close_all();
  open({.begin = 4096, .end = 5120}, 512);
  EXPECT_TRUE(windows_.close_surplus());
  EXPECT_EQ(windows_.open().size(), 0U);
}

TEST_F(FaultWindowsTest, WindowsCloseWhereNothingElseLeaves) {
  open(group_at(1024), 512);
  for (PageNumber page = 448; page < 512; ++page)
    rig_.pages()[rig_.place(page)].refuses_move = -EBUSY;
  EXPECT_EQ(rig_.parts.eviction.evict(), 1U);
  EXPECT_EQ(windows_.open().size(), 0U);
}

TEST_F(FaultWindowsTest, WindowsThatFillWithSmallPagesInARowAreTheLast) {
  PageNumber page = 1024;
  for (int i = 0; i < 7; ++i, page += huge_pages) fill_one(page, false);
  fill_one(page, true);  // and so not in a row
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(state_.has_huge_pages);
    page += huge_pages;
    fill_one(page, false);
  }
  EXPECT_FALSE(state_.has_huge_pages);
}

}  // namespace test_file
}  // namespace nearfar::tier

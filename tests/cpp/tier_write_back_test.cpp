// What a page needs that leaves near memory, and what becomes of it.

#include <gtest/gtest.h>

#include <array>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

using Need = WriteBack::Need;
using Contents = std::array<std::uint64_t, 512>;

class WriteBackTest : public testing::Test {
 protected:
  PartsRig rig_;
  WriteBack& write_back_ = rig_.parts.write_back;
  Contents zeros_{};
  Contents ones_ = [] {
    Contents all{};
    all[511] = 1;
    return all;
  }();
};

TEST_F(WriteBackTest, APageOfZerosNeedsNoCopy) {
  rig_.bring_in(0);
  EXPECT_EQ(write_back_.classify(0, zeros_.data(), nullptr), Need::none_zeros);
}

TEST_F(WriteBackTest, APageThatHoldsSomethingForTheFirstTimeIsWritten) {
  rig_.bring_in(0);
  EXPECT_EQ(write_back_.classify(0, ones_.data(), nullptr), Need::write);
}

TEST_F(WriteBackTest, APageEqualToItsFarCopyIsNotWrittenAgain) {
  rig_.send_far(0, 7);
  const Contents copy = ones_;
  EXPECT_EQ(write_back_.classify(0, ones_.data(), copy.data()), Need::none_equal);
  EXPECT_EQ(write_back_.classify(0, ones_.data(), zeros_.data()), Need::write);
}

TEST_F(WriteBackTest, APageThatWasTouchedByAWriteIsWrittenWithoutAComparison) {
  rig_.send_far(0, 7);
  rig_.entry(0).written = true;
  EXPECT_FALSE(write_back_.is_compared(0));
  EXPECT_EQ(write_back_.classify(0, ones_.data(), nullptr), Need::write);
}

TEST_F(WriteBackTest, AWriteProtectedPageNeedsNothingWhateverItHolds) {
  rig_.send_far(0, 7);
  rig_.entry(0).write_protected = true;
  EXPECT_EQ(write_back_.classify(0, zeros_.data(), nullptr), Need::none_protected);
}

TEST_F(WriteBackTest, ToClassifyAPageChangesNothing) {
  rig_.send_far(0, 7);
  const Page before = rig_.entry(0);
  for (const Contents& contents : {zeros_, ones_})
    (void)write_back_.classify(0, contents.data(), zeros_.data());
  EXPECT_EQ(rig_.entry(0).slot(), before.slot());
  EXPECT_EQ(rig_.entry(0).state, before.state);
  EXPECT_EQ(rig_.entry(0).unchanged, before.unchanged);
}

TEST_F(WriteBackTest, APageOfZerosGivesItsSlotUpAndIsFresh) {
  rig_.send_far(0, 7);
  const std::uint64_t used = rig_.control().slots_used.load();
  write_back_.apply(0, Need::none_zeros);
  EXPECT_EQ(rig_.state_of(0), State::fresh);
  EXPECT_FALSE(rig_.entry(0).stored());
  EXPECT_EQ(rig_.control().slots_used.load(), used - 1);
}

TEST_F(WriteBackTest, APageKnownToBeEqualIsUnchanged) {
  rig_.send_far(0, 7);
  write_back_.apply(0, Need::none_equal);
  EXPECT_TRUE(rig_.entry(0).unchanged);
  EXPECT_EQ(rig_.state_of(0), State::far);
  write_back_.apply(0, Need::write);
  EXPECT_FALSE(rig_.entry(0).unchanged);
}

TEST_F(WriteBackTest, APageThatIsWrittenGivesUpASlotThatAChildNeeds) {
  rig_.send_far(0, 7);
  const Slot slot = rig_.entry(0).slot();
  rig_.parts.state.slots().share(slot);
  write_back_.apply(0, Need::write);
  EXPECT_FALSE(rig_.entry(0).stored());
  EXPECT_FALSE(rig_.parts.state.slots().shared(slot));
}

TEST_F(WriteBackTest, AProtectedPageLosesItsProtectionAsItLeaves) {
  rig_.send_far(0, 7);
  rig_.entry(0).write_protected = true;
  write_back_.apply(0, Need::none_protected);
  EXPECT_FALSE(rig_.entry(0).write_protected);
  EXPECT_EQ(rig_.state_of(0), State::far);
}

TEST(WriteBackOfMany, WritesOnlyWhatHasChanged) {
  for (const Compression compression : {Compression::none, Compression::lz4}) {
    PartsRig rig({.compression = compression, .far_in_memory = compression != Compression::none});
    for (PageNumber page = 0; page < 8; ++page) rig.send_far(page, page + 1);
    for (PageNumber page = 0; page < 8; ++page) {
      ASSERT_EQ(rig.parts.page_in.fill({.first = page, .from = State::far, .touched = page}).pages,
                1U);
      EXPECT_EQ(rig.word(page), page + 1);
      if (page % 2 == 0) *os::pointer<std::uint64_t>(rig.place(page)) = 100 + page;
    }
    const std::uint64_t written = rig.count(Count::copies_out);
    for (PageNumber page = 0; page < 8; ++page) rig.parts.eviction.displace(page);
    rig.parts.eviction.drain_all();
    EXPECT_EQ(rig.count(Count::copies_out), written + 4);
    EXPECT_EQ(rig.count(Count::clean_drops), 4U);
  }
}

}  // namespace test_file
}  // namespace nearfar::tier

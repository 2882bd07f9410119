// What mremap, munmap and madvise change, told by the kernel or asked for as advice.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "parts_rig.h"
#include "tier/pager/advice.h"

namespace nearfar::tier {
namespace test_file {

class RemapTest : public testing::Test {
 protected:
  PartsRig rig_{{.limit = 256}};
  Remap& remap_ = rig_.parts.remap;
  Advice advice_{rig_.parts.state, rig_.parts.page_in, rig_.parts.eviction, rig_.parts.huge,
                 rig_.parts.windows};
};

TEST_F(RemapTest, ADiscardLeavesNearPagesChargedUntilTheyAreGone) {
  rig_.bring_in(0, 1);
  rig_.send_far(1, 2);
  const std::uint64_t charged = rig_.charged();
  EXPECT_EQ(remap_.discard(rig_.place(0), rig_.place(2)), 1U);
  EXPECT_EQ(rig_.charged(), charged);
  remap_.uncharge(1);
  EXPECT_EQ(rig_.charged(), charged - 1);
  EXPECT_EQ(rig_.state_of(0), State::fresh);
  EXPECT_FALSE(rig_.entry(1).stored());
}

TEST_F(RemapTest, WhatMadviseRemovesIsForgotten) {
  rig_.bring_in(0, 1);
  ASSERT_TRUE(rig_.parts.eviction.displace(0));
  const std::uint64_t charged = rig_.charged();
  remap_.on_removed(rig_.place(0), rig_.place(1));
  EXPECT_EQ(rig_.state_of(0), State::fresh);
  EXPECT_EQ(rig_.charged(), charged - 1);
}

TEST_F(RemapTest, WhatIsUnmappedIsNotManagedAnyMore) {
  rig_.send_far(3, 1);
  EXPECT_FALSE(remap_.has_unmanaged());
  remap_.on_unmapped(rig_.place(3), rig_.place(4));
  EXPECT_TRUE(remap_.has_unmanaged());
  EXPECT_FALSE(remap_.manages(rig_.place(3)));
  EXPECT_FALSE(rig_.entry(3).stored());
  remap_.on_unmapped(0x1000, 0x2000);  // outside of the region
}

TEST_F(RemapTest, FarContentsAreBroughtAlongWhereAMappingHasMoved) {
  rig_.send_far(0, 41);
  rig_.bring_in(1, 42);
  ASSERT_TRUE(rig_.parts.eviction.displace(1));  // in limbo
  rig_.bring_in(2, 43);                          // moved by the kernel
  const os::Place to = rig_.place(2000);
  remap_.on_moved(rig_.place(0), rig_.place(3), to);
  EXPECT_TRUE(remap_.is_pending());
  EXPECT_EQ(rig_.state_of(2), State::fresh);
  rig_.pages().changing = true;
  EXPECT_TRUE(remap_.finish());
  rig_.pages().changing = false;
  EXPECT_FALSE(remap_.finish());
  EXPECT_FALSE(remap_.is_pending());
  EXPECT_EQ(*os::pointer<std::uint64_t>(to), 41U);
  EXPECT_EQ(*os::pointer<std::uint64_t>(to + os::page_bytes), 42U);
  EXPECT_TRUE(remap_.claim(to));
  EXPECT_FALSE(remap_.claim(0x5000));
}

TEST_F(RemapTest, AMappingThatMovesTwiceIsFollowedToItsLastPlace) {
  rig_.send_far(0, 41);
  const os::Place first = os::reserve(2 * os::page_bytes);
  const os::Place last = first + os::page_bytes;
  rig_.pages()[last].registered = true;
  remap_.on_moved(rig_.place(0), rig_.place(1), first);
  remap_.on_moved(first, last, last);
  EXPECT_FALSE(remap_.finish());
  EXPECT_EQ(*os::pointer<std::uint64_t>(last), 41U);
  os::unmap(first, 2 * os::page_bytes);
}

TEST_F(RemapTest, APageElsewhereIsServedIfItIsRegistered) {
  const os::Place at = os::reserve(os::page_bytes);
  EXPECT_FALSE(remap_.claim(at));
  rig_.pages()[at].registered = true;  // as what has moved or grown past the library is
  rig_.pages().changing = true;
  EXPECT_TRUE(remap_.claim(at));
  EXPECT_FALSE(rig_.pages().at(at).present);
  rig_.pages().changing = false;
  EXPECT_TRUE(remap_.claim(at + 5));
  EXPECT_TRUE(rig_.pages().at(at).present);
  EXPECT_TRUE(remap_.claim(at)) << "another thread touched it, too";
  os::unmap(at, os::page_bytes);
}

TEST_F(RemapTest, MemoryDoesNotMovePastTheLibraryWhereFaultsAreSignals) {
  rig_.parts.state.faults_as = os::Faults::signal;
  EXPECT_EXIT(remap_.on_moved(rig_.place(0), rig_.place(1), rig_.place(2000)),
              ::testing::ExitedWithCode(1), "which --sigbus does not follow");
}

TEST_F(RemapTest, WhatHasMovedAndIsDroppedThereComesAsZeros) {
  rig_.send_far(0, 41);
  remap_.on_moved(rig_.place(0), rig_.place(1), rig_.place(2000));
  remap_.on_removed(rig_.place(2000), rig_.place(2001));
  EXPECT_FALSE(rig_.entry(0).stored());
  EXPECT_TRUE(remap_.is_pending());
  remap_.on_unmapped(rig_.place(2000), rig_.place(2001));
  EXPECT_FALSE(remap_.is_pending());
}

TEST_F(RemapTest, TheKernelMayRefuseToDropPages) {
  rig_.bring_in(0, 1);
  rig_.pages()[rig_.place(0)].locked = true;
  EXPECT_FALSE(remap_.drop(rig_.place(0), rig_.place(1)));
  EXPECT_EQ(rig_.state_of(0), State::near);
  rig_.pages()[rig_.place(0)].locked = false;
  EXPECT_TRUE(remap_.drop(rig_.place(0), rig_.place(1)));
  EXPECT_EQ(rig_.state_of(0), State::fresh);
}

TEST_F(RemapTest, AdviceChangesWherePagesAre) {
  rig_.send_far(0, 1);
  rig_.bring_in(1, 2);
  advice_.will_need(rig_.place(0), rig_.place(2));
  EXPECT_EQ(rig_.state_of(0), State::near);
  EXPECT_EQ(rig_.word(0), 1U);
  advice_.cold(rig_.place(0), rig_.place(2));
  EXPECT_EQ(rig_.state_of(0), State::limbo);
  EXPECT_TRUE(advice_.keep_near(rig_.place(0), rig_.place(2)));
  EXPECT_EQ(rig_.state_of(0), State::near);
  advice_.cold(rig_.place(0), rig_.place(2));
  EXPECT_EQ(rig_.state_of(0), State::near);
  EXPECT_FALSE(advice_.keep_near(rig_.place(0), rig_.place(200)));  // more than half
  advice_.release_near(rig_.place(0), rig_.place(2));
  advice_.cold(rig_.place(0), rig_.place(2));
  EXPECT_NE(rig_.state_of(0), State::near);
}

}  // namespace test_file
}  // namespace nearfar::tier

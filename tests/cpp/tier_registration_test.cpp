// What a pager that starts asks of the kernel, and says where the kernel refuses.

#include "tier/pager/registration.h"

#include <gtest/gtest.h>

#include "parts_rig.h"

namespace nearfar::tier {
namespace test_file {

class RegistrationTest : public testing::Test {
 protected:
  void expect_end(long error, const char* message) {
    rig_.uffd().open_error = error;
    EXPECT_EXIT(register_region(rig_.parts.state, rig_.parts.incoming),
                ::testing::ExitedWithCode(1), message);
  }

  PartsRig rig_;
};

TEST_F(RegistrationTest, SaysHowUserfaultfdIsPermitted) {
  expect_end(-EPERM, "vm.unprivileged_userfaultfd=1, or give access to /dev/userfaultfd");
}

TEST_F(RegistrationTest, SaysThatNoDescriptorsAreLeft) {
  expect_end(-EMFILE, "no descriptors left for userfaultfd");
  expect_end(-ENFILE, "no descriptors left for userfaultfd");
}

TEST_F(RegistrationTest, SaysWhichKernelCanEvict) {
  orders_of(rig_.control()).eviction = os::Eviction::move;
  expect_end(-EINVAL, "Linux 6.8 or newer can");
  orders_of(rig_.control()).eviction = os::Eviction::copy;
  expect_end(-EINVAL, "Linux 5.7 or newer can");
}

TEST_F(RegistrationTest, EndsWhereTheRegionCannotBeWatched) {
  rig_.pages().register_error = -ENOMEM;
  expect_end(0, "the memory cannot be watched");
}

TEST_F(RegistrationTest, WatchesAllButOtherMappings) {
  ASSERT_TRUE(rig_.parts.state.add_unmanaged(rig_.place(10), rig_.place(20)));
  rig_.pages().each(rig_.place(0), 100 * os::page_bytes,
                    [](FakePages::Info& page) { page.registered = false; });
  register_region(rig_.parts.state, rig_.parts.incoming);
  for (PageNumber page = 0; page < 100; ++page)
    EXPECT_EQ(rig_.pages().at(rig_.place(page)).registered, page < 10 || page >= 20) << page;
}

}  // namespace test_file
}  // namespace nearfar::tier

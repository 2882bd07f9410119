// What pages leave by where the kernel cannot move them: protection, and reading without waiting.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "tier/os/own_memory.h"
#include "tier/os/uffd.h"

namespace nearfar::tier::os {
namespace test_file {

/// Four watched pages, none of which is there, as on a kernel that cannot move any.
class Watched : public testing::Test {
 protected:
  static constexpr std::size_t pages = 4;

  void SetUp() override {
    const long opened = uffd_.open(Eviction::copy, Changes::followed, Faults::wait);
    if (opened != 0) GTEST_SKIP() << "no userfaultfd for this user: " << opened;
    base_ = reserve(pages * page_bytes);
    ASSERT_NE(base_, 0U);
    ASSERT_EQ(uffd_.register_range(base_, pages * page_bytes), 0);
  }
  void TearDown() override {
    unmap(base_, pages * page_bytes);
    if (uffd_.descriptor() >= 0) uffd_.close();
    if (uffd_.device() >= 0) ::close(uffd_.device());
  }

  [[nodiscard]] Place page(std::size_t number) const { return base_ + number * page_bytes; }
  void bring_in(std::size_t number, unsigned char value) {
    alignas(page_bytes) std::array<unsigned char, page_bytes> contents;
    contents.fill(value);
    ASSERT_EQ(uffd_.copy(page(number), contents.data(), page_bytes).bytes, page_bytes);
  }

  /// By the kernel: another thread may be about to write.
  static unsigned char first_byte(Place page) {
    std::array<unsigned char, page_bytes> read{};
    EXPECT_EQ(OwnMemory().read(page, read.data(), page_bytes), page_bytes);
    return read[0];
  }

  KernelUffd uffd_;
  Place base_ = 0;
};

TEST_F(Watched, MemoryIsReadUpToTheFirstPageThatIsMissing) {
  bring_in(0, 1);
  bring_in(1, 2);
  bring_in(3, 4);
  OwnMemory opened;
  opened.open();
  ASSERT_GE(opened.descriptor(), 0);
  for (const OwnMemory& memory : {opened, OwnMemory()}) {
    std::array<unsigned char, pages * page_bytes> read{};
    EXPECT_EQ(memory.read(page(0), read.data(), read.size()), 2 * page_bytes);
    EXPECT_EQ(read[0], 1);
    EXPECT_EQ(read[2 * page_bytes - 1], 2);
    EXPECT_EQ(memory.read(page(2), read.data(), page_bytes), 0U);
    EXPECT_EQ(memory.read(page(3), read.data(), page_bytes), page_bytes);
    EXPECT_EQ(read[0], 4);
  }
  EXPECT_TRUE(resident(page(1)));
  EXPECT_FALSE(resident(page(2)));
  opened.close();
}

TEST_F(Watched, AThreadThatWritesToAProtectedPageWaits) {
  bring_in(0, 1);
  ASSERT_EQ(uffd_.protect(page(0), page_bytes), 0);
  std::thread writer([this] { *pointer<volatile unsigned char>(page(0)) = 7; });
  std::array<Message, Uffd::most_read> waiting{};
  pollfd event{.fd = uffd_.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&event, 1, -1), 1);
  ASSERT_EQ(uffd_.read(waiting), 1U);
  EXPECT_EQ(waiting[0].begin / page_bytes * page_bytes, page(0));
  EXPECT_EQ(first_byte(page(0)), 1);
  uffd_.unprotect(page(0), page_bytes, os::Waking::at_once);
  writer.join();
  EXPECT_EQ(first_byte(page(0)), 7);
}

TEST_F(Watched, ACopiedPageIsNotMoved) {
  EXPECT_FALSE(uffd_.moves());
  const Moved moved = uffd_.move(page(1), page(0), page_bytes);
  EXPECT_EQ(moved.bytes, 0U);
  EXPECT_EQ(moved.error, -EOPNOTSUPP);
}

}  // namespace test_file
}  // namespace nearfar::tier::os

// Memory that system calls work on, and how libc's calls are found.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <vector>

#include "tier/pager/held_ranges.h"
#include "tier/preload/code.h"

namespace nearfar::tier {
namespace test_file {

constexpr os::Place page(os::Place number) { return number * os::page_bytes; }

TEST(HeldRanges, AsManyRangesAreHeldAsCallsNeed) {
  constexpr os::Place many = 5000;
  const auto held = std::make_unique<HeldRanges>();
  std::vector<HeldRanges::Range*> ranges;
  std::set<std::size_t> positions;
  for (os::Place i = 0; i < many; ++i) {
    ranges.push_back(held->add(page(2 * i + 2), page(2 * i + 3), 7, 1000, ranges.size() / 2));
    ASSERT_NE(ranges.back(), nullptr);
    positions.insert(held->position(*ranges.back()));
  }
  EXPECT_EQ(positions.size(), many);
  EXPECT_EQ(held->pages(), many);
  EXPECT_TRUE(held->overlaps(page(2 * many), page(2 * many + 1)));
  EXPECT_FALSE(held->overlaps(page(2 * many + 1), page(2 * many + 2)));
  HeldRanges::remove(*ranges.back());
  EXPECT_FALSE(held->overlaps(page(2 * many), page(2 * many + 1)));
  EXPECT_EQ(held->pages(), many - 1);
}

TEST(HeldRanges, ARangeThatIsUsedAgainHasItsOwnFrameOnly) {
  HeldRanges held;
  HeldRanges::Range* const range = held.add(page(1), page(3), 7, 1000, 0);
  EXPECT_EQ(range->frame.load(), 1000U);
  HeldRanges::remove(*range);
  EXPECT_EQ(range->frame.load(), 0U);
  EXPECT_EQ(held.add(page(1), page(2), 8, 2000, 0), range);
  EXPECT_EQ(range->frame.load(), 2000U);
}

TEST(HeldRanges, WhatIsRemovedOfOneThreadLeavesTheOthers) {
  HeldRanges held;
  for (const int thread : {7, 8, 7, 9})
    ASSERT_NE(held.add(page(1), page(3), thread, 1, 0), nullptr);
  held.remove_if([](int thread, const HeldRanges::Range&) { return thread == 7; });
  EXPECT_EQ(held.pages(), 4U);
  std::set<int> left;
  held.remove_if([&](int thread, const HeldRanges::Range&) {
    left.insert(thread);
    return false;
  });
  EXPECT_EQ(left, (std::set<int>{8, 9}));
}

/// Instructions in the midst of others that do nothing.
class Instructions {
 public:
  explicit Instructions(std::vector<unsigned char> code) {
    bytes_.fill(0x90);
    std::copy(code.begin(), code.end(), bytes_.begin() + 32);
  }
  [[nodiscard]] bool is_cancelled_at_one_call() const {
    const preload::Code code(os::place(bytes_.data()), os::place(bytes_.data() + bytes_.size()));
    return code.is_cancelled_at_one_call();
  }

 private:
  std::array<unsigned char, 128> bytes_{};
};

TEST(Code, OneCallAtWhichAllThreadsAreCancelledIsSeen) {
  // mov 16(%rsp), %r9; mov %r11, 8(%rsp); syscall; ret
  const Instructions shared(
      {0x4c, 0x8b, 0x4c, 0x24, 0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05, 0xc3});
  EXPECT_TRUE(shared.is_cancelled_at_one_call());
  // mov $0, %eax; syscall; cmp $-4096, %rax
  const Instructions apart(
      {0xb8, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff});
  EXPECT_FALSE(apart.is_cancelled_at_one_call());
}

}  // namespace test_file
}  // namespace nearfar::tier

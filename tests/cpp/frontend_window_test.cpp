// Which instructions of a program count.

#include <gtest/gtest.h>

#include <vector>

#include "frontend/qemu/window.h"

namespace nearfar::frontend::qemu {
namespace test_file {

using Part = Window::Part;

std::vector<Part> parts(Window window, std::uint64_t block, std::size_t blocks) {
  std::vector<Part> found(blocks);
  for (Part& part : found) part = window.next(block);
  EXPECT_EQ(window.passed(), block * blocks);
  return found;
}

TEST(Window, AWindowFollowsOneInstructionAfterTheOther) {
  const std::vector<Part> expected{Part::skipped, Part::skipped, Part::warming, Part::counted,
                                   Part::counted, Part::counted, Part::beyond};
  EXPECT_EQ(parts(Window(2, 1, 3), 1, 7), expected);
}

TEST(Window, AWindowGivesABlockToThePartThatItBeginsIn) {
  const std::vector<Part> expected{Part::skipped, Part::warming, Part::counted, Part::counted,
                                   Part::beyond};
  EXPECT_EQ(parts(Window(9, 10, 12), 10, 5), expected);
}

TEST(Window, AWindowCountsTheRestOfTheProgramUnlessToldOtherwise) {
  EXPECT_EQ(parts(Window(0, 0, 0), 1, 2), (std::vector<Part>{Part::counted, Part::counted}));
  EXPECT_EQ(parts(Window(1, 0, 0), 1, 2), (std::vector<Part>{Part::skipped, Part::counted}));
  EXPECT_EQ(parts(Window(1, ~0ull, 1), 1, 2), (std::vector<Part>{Part::skipped, Part::warming}));
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu

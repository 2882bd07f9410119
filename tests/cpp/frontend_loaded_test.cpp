#include "frontend/qemu/loaded.h"

#include <gtest/gtest.h>

#include <sstream>

namespace nearfar::frontend::qemu {
namespace test_file {

TEST(Loaded, ALoadedProgramHasItsVariablesItsLibrariesAndItsStack) {
  std::istringstream maps(
      "4000000000-4000003000 r--p 00000000 fe:00 10053731    /srv/a program\n"
      "4000003000-4000004000 rw-p 00002000 fe:00 10053731    /srv/a program\n"
      "4000004000-4000008000 rw-p 00000000 00:00 0 \n"
      "4002000000-4002001000 ---p 00000000 00:00 0 \n"
      "4002001000-4002801000 rw-p 00000000 00:00 0                   [stack]\n"
      "4002801000-4002830000 r--p 00000000 fe:00 325835      /usr/lib/ld-linux-x86-64.so.2\n"
      "4002840000-4002842000 rw-p 00000000 00:00 0 \n"
      "what is no line of the kind\n");
  const std::vector<Loaded> found = loaded_ranges(maps);
  const struct {
    std::uint64_t begin;
    Bytes bytes;
    Mapping kind;
  } expected[] = {
      {0x4000000000, 0x3000, Mapping::file},  {0x4000003000, 0x1000, Mapping::file},
      {0x4000004000, 0x4000, Mapping::file},  {0x4002001000, 0x800000, Mapping::stack},
      {0x4002801000, 0x2f000, Mapping::file}, {0x4002840000, 0x2000, Mapping::memory},
  };
  ASSERT_EQ(found.size(), std::size(expected));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].begin.value(), expected[i].begin);
    EXPECT_EQ(found[i].bytes, expected[i].bytes);
    EXPECT_EQ(found[i].kind, expected[i].kind) << i;
  }
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu

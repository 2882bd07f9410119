#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "tier/os/page_map.h"

namespace nearfar::tier::os {
namespace {

using Found = std::vector<std::pair<std::size_t, std::size_t>>;  // first page, and one behind

constexpr std::size_t pages = 300;

/// What `find` says of all pages, a few runs at a time; those that lie side by side joined.
template <typename Find>
Found found_by(Place begin, Find find) {
  Found all;
  const Place end = begin + pages * page_bytes;
  for (Place from = begin; from < end;) {
    std::array<PageMap::Run, 3> runs{};
    const std::size_t count = find(from, end, runs);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = (runs[i].begin - begin) / page_bytes;
      const std::size_t behind = (runs[i].end - begin) / page_bytes;
      if (!all.empty() && all.back().second == first) {
        all.back().second = behind;
      } else {
        all.emplace_back(first, behind);
      }
    }
  }
  return all;
}

TEST(PageMap, ThePageMapIsTheSameByEveryInterfaceOfTheKernel) {
  const Place begin = reserve(pages * page_bytes);
  ASSERT_NE(begin, 0);
  Found touched;
  const auto touch = [&](std::size_t first, std::size_t behind) {
    for (std::size_t i = first; i < behind; ++i) *pointer<char>(begin + i * page_bytes) = 1;
    touched.emplace_back(first, behind);
  };
  touch(0, 1);
  touch(2, 5);
  touch(60, 140);  // over the end of what is asked for at once
  for (std::size_t i = 150; i < 170; i += 2) touch(i, i + 1);
  touch(299, 300);
  PageMap map;
  map.open();
  ASSERT_GE(map.descriptor(), 0);
  const auto by_page = [](int descriptor) {
    return [descriptor](Place& from, Place end, std::span<PageMap::Run> runs) {
      return find_page_by_page(descriptor, from, end, runs);
    };
  };
  EXPECT_EQ(
      found_by(begin, [&](auto& from, auto end, auto& runs) { return map.find(from, end, runs); }),
      touched);
  EXPECT_EQ(found_by(begin, by_page(map.descriptor())), touched);
  EXPECT_EQ(found_by(begin, by_page(-1)), touched);
  map.close();
  EXPECT_EQ(found_by(begin, by_page(map.descriptor())), touched);
  unmap(begin, pages * page_bytes);
}

TEST(PageMap, ThePageMapShowsHugePagesOnlyWhereItIsOpen) {
  PageMap map;
  EXPECT_FALSE(map.tells_huge());
  map.open();
  const bool told = map.tells_huge();
  map.close();
  EXPECT_FALSE(map.tells_huge());
  map.open();
  EXPECT_EQ(map.tells_huge(), told);
  map.close();
}

}  // namespace
}  // namespace nearfar::tier::os

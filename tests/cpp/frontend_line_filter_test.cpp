#include "frontend/system/line_filter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace nearfar::frontend::system {
namespace test_file {

struct Reached {
  std::uint16_t processor;
  sim::cpu::Line line;
  bool write;
  friend bool operator==(const Reached&, const Reached&) = default;
};

/// First levels of two sets of two ways, and a last level of four sets of two ways.
class Caches {
 public:
  explicit Caches(std::size_t processors = 1)
      : filter_({.size = Bytes{4} * line_bytes, .ways = 2},
                {.size = Bytes{8} * line_bytes, .ways = 2}, processors,
                [this](std::uint16_t processor, sim::cpu::Line line, bool write) {
                  reached_.push_back({processor, line, write});
                }) {}

  std::vector<Reached> access(sim::cpu::Line line, bool write = false,
                              std::uint16_t processor = 0) {
    reached_.clear();
    filter_.access(processor, line, write);
    return reached_;
  }

 private:
  std::vector<Reached> reached_;
  LineFilter filter_;
};

using List = std::vector<Reached>;

TEST(LineFilter, ALineThatTheCachesHoldIsReadOnce) {
  Caches caches;
  EXPECT_EQ(caches.access(8), (List{{0, 8, false}}));
  EXPECT_EQ(caches.access(8), List{});
  EXPECT_EQ(caches.access(8, true), List{});
}

TEST(LineFilter, ALineThatLeftTheFirstLevelAloneIsNotReadAgain) {
  Caches caches;
  for (const sim::cpu::Line line : {0, 2, 4}) caches.access(line);
  // Of the even lines the first level holds two; the last level has all three.
  EXPECT_EQ(caches.access(0), List{});
}

TEST(LineFilter, AWrittenLineIsWrittenBackWhenItLeavesTheLastLevel) {
  Caches caches;
  caches.access(0, true);
  List all;
  for (const sim::cpu::Line line : {4, 8, 12, 16}) {
    for (const Reached& reached : caches.access(line)) all.push_back(reached);
  }
  EXPECT_EQ(std::ranges::count(all, Reached{0, 0, true}), 1);
  EXPECT_EQ(std::ranges::count_if(all, [](const Reached& one) { return one.write; }), 1);
}

TEST(LineFilter, ALineThatWasOnlyReadIsNeverWrittenBack) {
  Caches caches;
  for (sim::cpu::Line line = 0; line < 100; ++line) {
    EXPECT_EQ(caches.access(line), (List{{0, line, false}}));
  }
}

TEST(LineFilter, ProcessorsShareTheLastLevelAndHaveFirstLevelsOfTheirOwn) {
  Caches caches(2);
  EXPECT_EQ(caches.access(0, false, 0), (List{{0, 0, false}}));
  EXPECT_EQ(caches.access(0, false, 1), List{});
  EXPECT_EQ(caches.access(1, false, 1), (List{{1, 1, false}}));
}

}  // namespace test_file
}  // namespace nearfar::frontend::system

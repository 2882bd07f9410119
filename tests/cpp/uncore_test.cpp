#include "sim/cpu/uncore.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "mock_device.h"

/// Lines on their way from the mesh's stops to a memory that has room for one.
namespace nearfar::sim::cpu {
namespace test_file {

constexpr std::uint16_t stops = 8;
constexpr std::uint64_t lines_of_stop = 400;

/// Writes of every stop, all waiting at once: the numbers of the lines in the order in which the
/// memory got them. Line n is of stop n % stops.
std::vector<std::uint64_t> order(std::uint32_t reorder_writes, std::uint64_t seed) {
  MockDevice device({.latency = Tick(1'000), .slots = 1});
  Uncore uncore(device, 0, reorder_writes, seed);
  for (std::uint64_t line = 0; line < stops * lines_of_stop; ++line) {
    Request request;
    request.id = line;
    request.address = Address(line * line_bytes);
    request.op = Op::write;
    uncore.send(request, static_cast<std::uint16_t>(line % stops), Tick(0));
  }
  Sink sink;
  while (!device.next_event().is_never()) {
    const Tick now = device.next_event();
    sink.clear();
    device.advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) {
        uncore.wake(static_cast<std::uint16_t>(completion.id), now);
      }
    }
  }
  std::vector<std::uint64_t> lines;
  for (const auto& entry : device.entries()) lines.push_back(entry.address.block(line_bytes));
  return lines;
}

TEST(Uncore, TheUncoreBringsEveryLineOnce) {
  std::vector<std::uint64_t> lines = order(3, 1);
  std::ranges::sort(lines);
  ASSERT_EQ(lines.size(), stops * lines_of_stop);
  for (std::uint64_t line = 0; line < lines.size(); ++line) EXPECT_EQ(lines[line], line);
}

TEST(Uncore, TheUncoreKeepsTheOrderOfArrivalWithoutDisorder) {
  EXPECT_TRUE(std::ranges::is_sorted(order(0, 1)));
}

TEST(Uncore, TheUncoreKeepsTheOrderOfOneStopIfOnlyItsOldestLineMayGo) {
  std::map<std::uint64_t, std::uint64_t> last;
  for (const std::uint64_t line : order(1, 1)) {
    const auto [found, first] = last.try_emplace(line % stops, line);
    if (first) continue;
    EXPECT_GT(line, found->second);
    found->second = line;
  }
}

/// Equal turns at random: neighbours that wait at different stops drift apart by about the square
/// root of the turns between.
TEST(Uncore, TheUncoreLetsNeighboursOfDifferentStopsDriftApart) {
  const std::vector<std::uint64_t> lines = order(1, 1);
  std::vector<std::int64_t> at(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) at[lines[i]] = static_cast<std::int64_t>(i);
  std::int64_t furthest = 0;
  for (std::size_t line = 0; line + 1 < lines.size(); line += 2) {
    furthest = std::max(furthest, std::abs(at[line] - at[line + 1]));
  }
  EXPECT_GT(furthest, 64);
  EXPECT_LT(furthest, static_cast<std::int64_t>(lines.size()) / 2);
  EXPECT_NE(order(1, 1), order(1, 2));
  EXPECT_EQ(order(1, 1), order(1, 1));
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

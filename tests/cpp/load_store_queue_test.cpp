#include "sim/nvdimm/load_store_queue.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace nearfar::sim::nvdimm {
namespace test_file {

LsqConfig config_of(std::uint32_t lines, std::uint32_t high) {
  LsqConfig config;
  config.lines = lines;
  config.high = high;
  config.hold = Tick(1000);
  return config;
}

TEST(LoadStoreQueue, TheLoadStoreQueueCombinesTheLinesOfABlock) {
  LoadStoreQueue queue(config_of(16, 12), 256);
  for (const std::uint32_t line : {2u, 0u, 3u, 1u}) {
    EXPECT_FALSE(queue.must_drain(Tick(5)));
    queue.write(7, line, 100 + line, nullptr, Tick(5));
  }
  EXPECT_TRUE(queue.must_drain(Tick(5))) << "a complete block leaves when it is its turn";
  WriteGroup group;
  queue.take_oldest(group);
  EXPECT_EQ(group.block, 7u);
  EXPECT_EQ(group.lines, 0xfu);
  for (std::uint32_t line = 0; line < 4; ++line) EXPECT_EQ(group.data[line], 100 + line);
  EXPECT_TRUE(queue.empty());
}

TEST(LoadStoreQueue, TheLoadStoreQueueKeepsTwoStoresToOneLineTwoWritesInOrder) {
  LoadStoreQueue queue(config_of(16, 0), 256);
  queue.write(7, 1, 100, nullptr, Tick(0));
  queue.write(7, 1, 200, nullptr, Tick(0));
  queue.write(7, 2, 300, nullptr, Tick(0));
  DataHandle data = 0;
  ASSERT_TRUE(queue.forwards(7, 1, data));
  EXPECT_EQ(data, 200u);
  WriteGroup group;
  queue.take_oldest(group);
  EXPECT_EQ(group.lines, 0b010u);
  EXPECT_EQ(group.data[1], 100u);
  queue.take_oldest(group);
  EXPECT_EQ(group.lines, 0b110u) << "a line joins the youngest group of its block";
  EXPECT_EQ(group.data[1], 200u);
  EXPECT_FALSE(queue.forwards(7, 1, data));
}

TEST(LoadStoreQueue, TheLoadStoreQueueLetsABlockLeaveAtItsAge) {
  LoadStoreQueue queue(config_of(16, 12), 256);
  EXPECT_TRUE(queue.next_aged().is_never());
  queue.write(7, 0, 0, nullptr, Tick(50));
  queue.write(7, 1, 0, nullptr, Tick(900));
  EXPECT_EQ(queue.next_aged(), Tick(1050)) << "counted from its first line";
  EXPECT_FALSE(queue.must_drain(Tick(1049)));
  EXPECT_TRUE(queue.must_drain(Tick(1050)));
}

TEST(LoadStoreQueue, TheLoadStoreQueueDrainsItsPresentLinesOnAFenceAndNoMore) {
  LoadStoreQueue queue(config_of(16, 12), 256);
  queue.write(1, 0, 0, nullptr, Tick(0));
  queue.write(2, 0, 0, nullptr, Tick(0));
  queue.drain_all();
  queue.write(3, 0, 0, nullptr, Tick(0));
  WriteGroup group;
  for (const std::uint64_t block : {1u, 2u}) {
    ASSERT_TRUE(queue.must_drain(Tick(0)));
    queue.take_oldest(group);
    EXPECT_EQ(group.block, block);
  }
  EXPECT_FALSE(queue.must_drain(Tick(0)));
}

TEST(LoadStoreQueue, TheLoadStoreQueueAgreesWithAListOfGroups) {
  struct Group {
    std::uint64_t block;
    std::map<std::uint32_t, DataHandle> lines;
    std::vector<std::uint64_t> notices;
    Tick since;
    bool fenced = false;
  };
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const auto lines = static_cast<std::uint32_t>(1 + rng.below(64));
    const auto high = static_cast<std::uint32_t>(rng.below(lines));
    const std::uint32_t per_block = std::vector<std::uint32_t>{1, 2, 4, 64}[rng.below(4)];
    LoadStoreQueue queue(config_of(lines, high), per_block * line_bytes);
    std::deque<Group> naive;
    const std::uint64_t blocks = 1 + rng.below(20);
    std::uint32_t held = 0;
    WriteGroup group;
    Tick now{};
    for (std::uint64_t step = 1; step < 4000; ++step) {
      now += Tick(rng.below(40));
      if (queue.has_room() && rng.below(100) < 60) {
        const std::uint64_t block = rng.below(blocks);
        const auto line = static_cast<std::uint32_t>(rng.below(per_block));
        const MediaNotice notice{step, Address(0)};
        const bool told = rng.below(2) == 0;
        queue.write(block, line, step, told ? &notice : nullptr, now);
        ++held;
        auto youngest = std::find_if(naive.rbegin(), naive.rend(),
                                     [&](const Group& other) { return other.block == block; });
        if (youngest == naive.rend() || youngest->lines.contains(line)) {
          naive.push_back({block, {}, {}, now});
          youngest = naive.rbegin();
        }
        youngest->lines[line] = step;
        if (told) youngest->notices.push_back(step);
      } else if (!naive.empty() && rng.below(100) < 80) {
        const Group expected = naive.front();
        ASSERT_EQ(queue.must_drain(now), held > high || expected.fenced ||
                                             expected.since + Tick(1000) <= now ||
                                             expected.lines.size() == per_block);
        queue.take_oldest(group);
        naive.pop_front();
        held -= static_cast<std::uint32_t>(expected.lines.size());
        ASSERT_EQ(group.block, expected.block);
        std::uint64_t bits = 0;
        for (const auto& [line, data] : expected.lines) {
          bits |= std::uint64_t{1} << line;
          ASSERT_EQ(group.data[line], data);
        }
        ASSERT_EQ(group.lines, bits);
        ASSERT_EQ(group.notices.size(), expected.notices.size());
        for (std::size_t i = 0; i < group.notices.size(); ++i) {
          ASSERT_EQ(group.notices[i].id, expected.notices[i]);
        }
      } else if (rng.below(10) == 0) {
        queue.drain_all();
        for (Group& other : naive) other.fenced = true;
      }
      ASSERT_EQ(queue.empty(), naive.empty());
      ASSERT_EQ(queue.has_room(), held < lines);
      const std::uint64_t block = rng.below(blocks);
      const auto line = static_cast<std::uint32_t>(rng.below(per_block));
      DataHandle data = 0;
      DataHandle newest = 0;
      for (const Group& other : naive) {
        if (other.block == block && other.lines.contains(line)) newest = other.lines.at(line);
      }
      ASSERT_EQ(queue.forwards(block, line, data), newest != 0);
      ASSERT_EQ(data, newest);
    }
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::nvdimm

#include "sim/nvdimm/media.h"

#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace nearfar::sim::nvdimm {
namespace test_file {

constexpr Bytes page = 4096;
constexpr Bytes block = 256;

MediaConfig config_without_budget() {
  MediaConfig config;
  config.capacity = 1 << 24;
  config.access = 256;
  config.partitions = 16;
  config.read_latency = Tick(150'000);
  config.read_interval = Tick(36'000);
  config.read_partition = Tick(66'000);
  config.write_interval = Tick(110'000);
  config.write_partition = Tick(280'000);
  config.write_high = 2;
  config.write_batch = 3;
  config.read_batch = 4;
  config.read_energy_pj = 240'000;
  config.write_energy_pj = 700'000;
  return config;
}

/// Plays everything; the order and the times of the starts are told by the results.
std::vector<Media::Started> play(Media& media) {
  std::vector<Media::Started> started;
  while (!media.next_event().is_never()) media.advance(media.next_event(), started);
  return started;
}

TEST(Media, AnIdleReadTakesItsLatency) {
  Media media(config_without_budget(), page, block);
  media.read(1, Address(0), Tick(500));
  EXPECT_EQ(media.next_event(), Tick(500));
  const auto started = play(media);
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].done, Tick(150'500));
}

TEST(Media, TheOldestOfTheReadsThatCanStartStarts) {
  Media media(config_without_budget(), page, block);
  std::vector<Media::Started> started;
  // Partition 1 has been used last, so it became free last; both are long free by now.
  media.read(0, Address(0), Tick(0));
  media.read(1, Address(block), Tick(0));
  media.advance(Tick(1'000'000), started);
  started.clear();
  media.read(2, Address(block), Tick(2'000'000));
  media.read(3, Address(0), Tick(2'000'000));
  for (const auto& one : play(media)) started.push_back(one);
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[0].tag, 2u);
  EXPECT_EQ(started[0].done, Tick(2'150'000));
  EXPECT_EQ(started[1].tag, 3u);
}

TEST(Media, NeighbouringBlocksAreReadAtTheInterval) {
  Media media(config_without_budget(), page, block);
  for (Media::Tag tag = 0; tag < 40; ++tag) media.read(tag, Address(tag * block), Tick(0));
  const auto started = play(media);
  for (Media::Tag tag = 0; tag < 40; ++tag) {
    EXPECT_EQ(started[tag].tag, tag);
    EXPECT_EQ(started[tag].done, Tick(150'000) + tag * Tick(36'000));
  }
}

TEST(Media, NeighbouringBlocksAreWrittenAtTheInterval) {
  Media media(config_without_budget(), page, block);
  for (Media::Tag tag = 0; tag < 40; ++tag) media.write(tag, Address(tag * block), Tick(0));
  const auto started = play(media);
  for (Media::Tag tag = 0; tag < 40; ++tag) {
    EXPECT_EQ(started[tag].done, (tag + 1) * Tick(110'000));
  }
}

TEST(Media, OneBlockIsReachedAtThePaceOfItsPartition) {
  Media media(config_without_budget(), page, block);
  for (Media::Tag tag = 0; tag < 8; ++tag) media.read(tag, Address(0), Tick(0));
  const auto reads = play(media);
  for (Media::Tag tag = 0; tag < 8; ++tag) {
    EXPECT_EQ(reads[tag].done, Tick(150'000) + tag * Tick(66'000));
  }
  Media other(config_without_budget(), page, block);
  for (Media::Tag tag = 0; tag < 8; ++tag) other.write(tag, Address(0), Tick(0));
  const auto writes = play(other);
  for (Media::Tag tag = 0; tag < 8; ++tag) {
    EXPECT_EQ(writes[tag].tag, tag) << "in order";
    EXPECT_EQ(writes[tag].done, Tick(110'000) + tag * Tick(280'000));
  }
}

TEST(Media, ABlockOfSeveralAccessesCostsAllOfThem) {
  MediaConfig config = config_without_budget();
  config.access = 64;
  Media media(config, page, block);
  media.read(0, Address(0), Tick(0));
  media.read(1, Address(256), Tick(0));
  const auto started = play(media);
  EXPECT_EQ(started[0].done, Tick(150'000 + 3 * 36'000));
  EXPECT_EQ(started[1].done, Tick(150'000 + (4 + 3) * 36'000));
}

TEST(Media, TheBudgetPaysForReadsAndWritesAlike) {
  const MediaConfig config = config_without_budget();
  const PowerBudget budget(2'000);  // 120 ns a read, 350 ns a write
  {
    Media media(config, page, block, budget);
    for (Media::Tag tag = 0; tag < 20; ++tag) media.read(tag, Address(tag * block), Tick(0));
    EXPECT_EQ(play(media).back().done, Tick(150'000) + 19 * Tick(120'000));
  }
  Media media(config, page, block, budget);
  for (Media::Tag tag = 0; tag < 20; ++tag) media.write(tag, Address(tag * block), Tick(0));
  EXPECT_EQ(play(media).back().done, Tick(110'000) + 19 * Tick(350'000));
}

TEST(Media, PowerLeftUndrawnInTheWindowOfTheBudgetIsDrawnAtOnce) {
  // 350 ns a write; the path alone lets one go each 110 ns.
  Media media(config_without_budget(), page, block, PowerBudget(2'000, Tick(700'000)));
  const Tick later(5'000'000);
  for (Media::Tag tag = 0; tag < 20; ++tag) media.write(tag, Address(tag * block), later);
  const auto started = play(media);
  EXPECT_EQ(started[1].done, later + 2 * Tick(110'000));
  EXPECT_EQ(started[2].done, later + 3 * Tick(110'000));
  EXPECT_EQ(started[19].done, later + Tick(110'000) + 19 * Tick(350'000) - Tick(700'000));
}

TEST(Media, ReadsPassASingleWriteUntilItsPatienceEnds) {
  Media media(config_without_budget(), page, block);
  media.read(0, Address(0), Tick(0));
  media.write(100, Address(15 * block), Tick(0));
  for (Media::Tag tag = 1; tag < 10; ++tag) media.read(tag, Address(tag * block), Tick(0));
  std::vector<Media::Tag> order;
  for (const auto& started : play(media)) order.push_back(started.tag);
  EXPECT_EQ(order, (std::vector<Media::Tag>{0, 1, 2, 3, 100, 4, 5, 6, 7, 8, 9}));
}

TEST(Media, WritesGoInBatchesAndTheReadsThatWaitedComeBetween) {
  Media media(config_without_budget(), page, block);
  for (Media::Tag tag = 0; tag < 7; ++tag) {
    media.write(100 + tag, Address((8 + tag) * block), Tick(0));
  }
  media.read(0, Address(0), Tick(0));
  media.read(1, Address(block), Tick(0));
  std::vector<Media::Tag> order;
  for (const auto& started : play(media)) order.push_back(started.tag);
  EXPECT_EQ(order, (std::vector<Media::Tag>{100, 101, 102, 0, 1, 103, 104, 105, 106}));
}

TEST(Media, NothingStartsDuringAStallThoughItWasWaiting) {
  Media media(config_without_budget(), page, block);
  std::vector<Media::Started> started;
  for (Media::Tag tag = 0; tag < 3; ++tag) media.write(tag, Address(tag * block), Tick(0));
  media.advance(Tick(0), started);
  ASSERT_EQ(started.size(), 1u);
  media.stall(Tick(9'000'000));
  EXPECT_EQ(media.next_event(), Tick(9'000'000));
  started = play(media);
  ASSERT_EQ(started.size(), 2u);
  EXPECT_EQ(started[0].done, Tick(9'110'000));
  EXPECT_EQ(started[1].done, Tick(9'220'000));
}

TEST(Media, TheMediaStartEveryAccessOnceAndKeepEveryDistance) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng(seed);
    MediaConfig config = config_without_budget();
    config.partitions = std::vector<std::uint32_t>{1, 3, 16}[rng.below(3)];
    config.write_high = static_cast<std::uint32_t>(1 + rng.below(5));
    config.write_batch = static_cast<std::uint32_t>(1 + rng.below(5));
    config.read_batch = static_cast<std::uint32_t>(1 + rng.below(70));
    const bool limited = rng.below(2) == 0;
    Media media(config, page, block, limited ? PowerBudget(5'000) : PowerBudget());
    struct Sent {
      Tick at;
      std::uint64_t partition;
      bool write;
    };
    std::vector<Sent> sent;
    std::map<Media::Tag, Tick> seen;
    std::vector<Tick> partition_free(config.partitions);
    Tick data_path_free{};
    Tick power_free{};
    std::vector<Media::Started> started;
    Tick now{};
    Tick stalled_until{};
    const auto check = [&](const Media::Started& access) {
      const Sent& asked = sent[access.tag];
      ASSERT_EQ(access.write, asked.write);
      ASSERT_TRUE(seen.emplace(access.tag, access.done).second) << "twice";
      const Tick at = access.done - (access.write ? config.write_interval : config.read_latency);
      ASSERT_GE(at, max(asked.at, stalled_until));
      ASSERT_GE(at, partition_free[asked.partition]);
      ASSERT_GE(at, data_path_free);
      ASSERT_GE(at, power_free);
      partition_free[asked.partition] =
          at + (access.write ? config.write_partition : config.read_partition);
      data_path_free = at + (access.write ? config.write_interval : config.read_interval);
      if (limited) power_free = at + Tick(access.write ? 140'000 : 48'000);
    };
    for (Media::Tag tag = 0; tag < 3000; ++tag) {
      now += Tick(rng.below(120'000));
      while (media.next_event() <= now) {
        started.clear();
        media.advance(media.next_event(), started);
        for (const auto& access : started) check(access);
        if (HasFatalFailure()) return;
      }
      const Address address(rng.below(4096) * block);
      const bool write = rng.below(3) == 0;
      sent.push_back(
          {now, (address.block(block) + address.block(page)) % config.partitions, write});
      write ? media.write(tag, address, now) : media.read(tag, address, now);
      if (rng.below(200) == 0) {
        stalled_until = max(stalled_until, now + Tick(rng.below(2'000'000)));
        media.stall(stalled_until);
      }
    }
    for (const auto& access : play(media)) check(access);
    EXPECT_EQ(seen.size(), 3000u);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::nvdimm

// Pages of a process that runs already, exchanged between two nodes from outside: what is looked at
// and moved is a memory of this test's own, with two nodes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tier/attach/os/target.h"
#include "tier/attach/placer.h"

namespace nearfar::tier::attach {
namespace test_file {

constexpr int near_node = 0;
constexpr int far_node = 1;
constexpr Place base = Place{1} << 30U;
constexpr std::size_t huge_pages = 512;

/// A process's memory on two nodes. A page that moves is marked as written, as the kernel does.
class TwoNodes final : public ProcessMemory {
 public:
  struct FakePage {
    int node = near_node;
    bool written = false;
    bool read = false;  // by what watches reads
    bool pinned = false;
    bool huge = false;
  };

  static Place at(std::size_t page) { return base + page * page_bytes; }
  FakePage& page(std::size_t number) { return pages.at(at(number)); }
  void add(std::size_t first, std::size_t count, int node, bool huge = false) {
    for (std::size_t i = 0; i < count; ++i) pages[at(first + i)] = {.node = node, .huge = huge};
  }
  void write(std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) page(first + i).written = true;
  }
  [[nodiscard]] std::size_t on(int node) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [&](const auto& one) { return one.second.node == node; }));
  }

  bool look(const std::function<void(const Run&)>& found) override {
    for (const auto& [place, page] : pages)
      found({place, place + page_bytes, page.written, page.huge, page.read});
    return !ended;
  }
  bool forget_writes() override {
    for (auto& [place, page] : pages) page.written = false;
    return !ended;
  }
  void find_nodes(std::span<const Place> places, std::span<int> nodes) override {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto found = pages.find(places[i]);
      nodes[i] = found == pages.end() ? -ENOENT : found->second.node;
    }
  }
  void move(std::span<const Place> places, int node, std::span<int> nodes) override {
    ++calls;
    on_their_way_.clear();
    for (std::size_t i = 0; i < places.size(); ++i) nodes[i] = move_one(places[i], node);
    near_most = std::max(near_most, on(near_node));
  }
  [[nodiscard]] std::vector<Area> areas() const override { return {}; }
  [[nodiscard]] std::uint64_t thread_ns() const override { return 0; }
  [[nodiscard]] std::uint64_t others_ns() const override { return others; }
  [[nodiscard]] std::uint64_t lost() const override { return lost_events; }

  std::map<Place, FakePage> pages;
  std::size_t near_most = 0;  // after any call
  unsigned calls = 0;
  bool ended = false;
  std::uint64_t others = 0;
  std::uint64_t lost_events = 0;

 private:
  /// As the kernel, it refuses the second page of a huge one that is on its way.
  int move_one(Place place, int node) {
    const auto found = pages.find(place);
    if (found == pages.end()) return -ENOENT;
    if (found->second.pinned) return -EBUSY;
    const Place begin = found->second.huge ? place - place % (huge_pages * page_bytes) : place;
    const std::size_t count = found->second.huge ? huge_pages : 1;
    if (!on_their_way_.insert(begin).second) return -EBUSY;
    for (std::size_t i = 0; i < count; ++i) {
      FakePage& page = pages.at(begin + i * page_bytes);
      page.written = page.written || page.node != node;
      page.node = node;
    }
    return node;
  }

  std::set<Place> on_their_way_;
};

class AttachTest : public testing::Test {
 protected:
  Placer& start(Limit limit, const std::string& policy = "raminate", int far = far_node) {
    const Placer::Options options{
        .policy = policy, .nodes = {near_node, far}, .interval_ns = 5'000'000'000, .pairs = 1000};
    placer_ = std::make_unique<Placer>(memory_, options, limit);
    (void)memory_.forget_writes();
    return *placer_;
  }
  /// An interval in which the program writes these pages before each scan.
  void interval(std::size_t first, std::size_t count) {
    for (unsigned scan = 0; scan < policy::scans_a_decision; ++scan) {
      memory_.write(first, count);
      ASSERT_TRUE(placer_->scan());
    }
    placer_->decide();
  }
  void trim() {
    while (placer_->trim()) continue;
  }

  TwoNodes memory_;
  std::unique_ptr<Placer> placer_;
};

TEST_F(AttachTest, PagesThatAreWrittenComeNearAndOthersMakeRoomFirst) {
  memory_.add(0, 100, near_node);
  memory_.add(100, 300, far_node);
  Placer& placer = start({.pages = 100});
  for (int i = 0; i < 3; ++i) interval(200, 80);
  for (std::size_t page = 200; page < 280; ++page) EXPECT_EQ(memory_.page(page).node, near_node);
  EXPECT_EQ(placer.counts().promoted, 80U);
  EXPECT_EQ(placer.counts().demoted, 80U);
  EXPECT_EQ(placer.counts().near, 100U);
  EXPECT_LE(memory_.near_most, 100U);
}

TEST_F(AttachTest, PagesThatAreOnlyReadComeNearWhereReadsAreWatched) {
  memory_.add(0, 64, near_node);
  memory_.add(64, 64, far_node);
  Placer& placer = start({.pages = 64});
  for (std::size_t page = 64; page < 80; ++page) memory_.page(page).read = true;
  interval(0, 0);
  for (std::size_t page = 64; page < 80; ++page) EXPECT_EQ(memory_.page(page).node, near_node);
  EXPECT_EQ(placer.counts().promoted, 16U);
}

TEST_F(AttachTest, APageThatHasMovedIsNotFoundUsedByThatAlone) {
  memory_.add(0, 64, near_node);
  memory_.add(64, 64, far_node);
  Placer& placer = start({.pages = 64});
  interval(64, 64);
  ASSERT_EQ(placer.counts().promoted, 64U);
  const std::uint64_t before = placer.counts().found_used;
  ASSERT_TRUE(placer.scan());
  EXPECT_EQ(placer.counts().found_used, before);
  EXPECT_FALSE(placer.found_any());
}

TEST_F(AttachTest, PagesThatTheKernelCollapsesAreNotFoundUsedByThatAlone) {
  memory_.add(0, huge_pages, near_node);
  Placer& placer = start({.pages = huge_pages});
  ASSERT_TRUE(placer.scan());
  for (std::size_t page = 0; page < huge_pages; ++page) memory_.page(page).huge = true;
  memory_.write(0, huge_pages);
  ASSERT_TRUE(placer.scan());
  EXPECT_EQ(placer.counts().found_used, 0U);
  memory_.write(0, huge_pages);
  ASSERT_TRUE(placer.scan());
  EXPECT_EQ(placer.counts().found_used, huge_pages);
}

TEST_F(AttachTest, ALowerLimitDemotesUnusedPagesFirst) {
  memory_.add(0, 300, near_node);
  Placer& placer = start({.pages = 300});
  memory_.write(0, 100);
  ASSERT_TRUE(placer.scan());
  placer.set_limit({.pages = 150});
  trim();
  EXPECT_EQ(memory_.on(near_node), 150U);
  for (std::size_t page = 0; page < 100; ++page) EXPECT_EQ(memory_.page(page).node, near_node);
  placer.set_limit({.pages = 50});
  trim();
  EXPECT_EQ(memory_.on(near_node), 50U);
  EXPECT_EQ(placer.counts().near, 50U);
}

TEST_F(AttachTest, AShareIsOfAllThatIsManaged) {
  memory_.add(0, 400, near_node);
  Placer& placer = start({.share = Limit::whole_share / 4}, "static");
  ASSERT_TRUE(placer.scan());
  trim();
  EXPECT_EQ(memory_.on(near_node), 100U);
  memory_.add(400, 400, near_node);
  ASSERT_TRUE(placer.scan());
  trim();
  EXPECT_EQ(memory_.on(near_node), 200U);
  EXPECT_EQ(placer.counts().far, 600U);
}

TEST_F(AttachTest, PagesThatTheKernelWillNotMoveStayAndAreNotAskedAgainAtOnce) {
  memory_.add(0, 40, near_node);
  for (std::size_t page = 0; page < 40; ++page) memory_.page(page).pinned = page < 30;
  Placer& placer = start({.pages = 10}, "static");
  ASSERT_TRUE(placer.scan());
  trim();
  EXPECT_EQ(memory_.on(near_node), 30U);
  EXPECT_EQ(placer.counts().refused, 30U);
  const unsigned calls = memory_.calls;
  ASSERT_TRUE(placer.scan());
  trim();
  EXPECT_EQ(memory_.calls, calls);
  for (std::size_t page = 0; page < 40; ++page) memory_.page(page).pinned = false;
  for (int i = 0; i < 8; ++i) placer.decide();
  trim();
  EXPECT_EQ(memory_.on(near_node), 10U);
}

TEST_F(AttachTest, TheRestOfAHugePageMovesWithItAndIsCounted) {
  memory_.add(0, huge_pages, near_node, true);
  memory_.add(huge_pages, huge_pages, far_node, true);
  Placer& placer = start({.pages = huge_pages});
  for (int i = 0; i < 3; ++i) interval(huge_pages, huge_pages);
  EXPECT_EQ(memory_.page(huge_pages).node, near_node);
  EXPECT_EQ(memory_.page(0).node, far_node);
  EXPECT_EQ(placer.counts().promoted, huge_pages);
  EXPECT_EQ(placer.counts().refused, 0U);
  EXPECT_EQ(placer.counts().near, huge_pages);
  EXPECT_LE(memory_.near_most, huge_pages);
}

TEST_F(AttachTest, AHugePageInUseComesWhereRoomIsLeftForAFewPagesOnly) {
  memory_.add(0, huge_pages, near_node, true);
  memory_.add(huge_pages, huge_pages, far_node, true);
  Placer& placer = start({.pages = huge_pages + 100});
  for (int i = 0; i < 3; ++i) interval(huge_pages, huge_pages);
  EXPECT_EQ(memory_.page(huge_pages).node, near_node);
  EXPECT_EQ(placer.counts().promoted, huge_pages);
  EXPECT_LE(memory_.near_most, huge_pages + 100);
}

TEST_F(AttachTest, PagesThatMovedUnaskedAreFoundWithinAnInterval) {
  memory_.add(0, 640, near_node);
  Placer& placer = start({.pages = 640}, "static");
  ASSERT_TRUE(placer.scan());
  for (std::size_t page = 0; page < 64; ++page) memory_.page(page).node = far_node;
  interval(0, 0);
  EXPECT_EQ(placer.counts().near, 576U);
  EXPECT_EQ(placer.counts().far, 64U);
}

TEST_F(AttachTest, WhatIsUnmappedIsManagedNoMore) {
  memory_.add(0, 200, near_node);
  memory_.add(1000, 100, far_node);
  Placer& placer = start({.pages = 200});
  ASSERT_TRUE(placer.scan());
  memory_.pages.erase(memory_.pages.find(TwoNodes::at(1000)), memory_.pages.end());
  memory_.pages.erase(TwoNodes::at(3));
  ASSERT_TRUE(placer.scan());
  EXPECT_EQ(placer.counts().near, 199U);
  EXPECT_EQ(placer.counts().far, 0U);
}

TEST_F(AttachTest, AProcessThatHasEndedIsNotLookedAt) {
  memory_.add(0, 10, near_node);
  Placer& placer = start({.pages = 10});
  ASSERT_TRUE(placer.scan());
  memory_.ended = true;
  EXPECT_FALSE(placer.scan());
}

TEST_F(AttachTest, TheTimeOfAnotherThreadStaysCountedWhenThatHasEnded) {
  memory_.add(0, 4, near_node);
  Placer& placer = start({.pages = 4});
  memory_.others = 700;
  ASSERT_TRUE(placer.scan());
  memory_.others = 0;
  ASSERT_TRUE(placer.scan());
  EXPECT_EQ(placer.counts().detector_ns, 700U);
}

TEST_F(AttachTest, WhatWasLostOfPagesInUseIsCounted) {
  memory_.add(0, 4, near_node);
  Placer& placer = start({.pages = 4});
  memory_.lost_events = 12;
  ASSERT_TRUE(placer.scan());
  EXPECT_EQ(placer.counts().lost_events, 12U);
}

TEST_F(AttachTest, WithOneNodePagesAreCountedAsIfThereWereTwo) {
  memory_.add(0, 128, near_node);
  Placer& placer = start({.pages = 32}, "raminate", near_node);
  ASSERT_TRUE(placer.scan());
  trim();
  EXPECT_EQ(placer.counts().near, 32U);
  EXPECT_EQ(placer.counts().far, 96U);
  for (int i = 0; i < 3; ++i) interval(0, 32);
  EXPECT_EQ(placer.counts().near, 32U);
  EXPECT_GE(placer.counts().promoted, 32U);
}

TEST(AttachAreas, AreAllThatIsReadButCodeAndFilesThatAreOnlyReadAndDevices) {
  const std::string maps =
      "00400000-00401000 r--p 00000000 fe:00 12 /usr/bin/program\n"
      "00401000-00402000 r-xp 00001000 fe:00 12 /usr/bin/program\n"
      "00402000-00403000 rw-p 00002000 fe:00 12 /usr/bin/program\n"
      "00403000-00405000 rw-p 00000000 00:00 0 [heap]\n"
      "10000000-10001000 ---p 00000000 00:00 0 \n"
      "20000000-20008000 rw-s 00000000 00:01 77 /memfd:guest ram (deleted)\n"
      "30000000-30001000 r--s 00000000 fe:00 13 /srv/data with spaces\n"
      "40000000-40001000 rw-s 00000000 00:05 14 /dev/vfio/1\n"
      "50000000-50001000 rw-s 00000000 00:06 15 /dev/shm/table\n"
      "7ffe0000-7ffe4000 r--p 00000000 00:00 0 [vvar]\n"
      "7ffe4000-7ffe5000 r-xp 00000000 00:00 0 [vdso]\n";
  EXPECT_EQ(manageable(maps, {}), (std::vector<Area>{{0x402000, 0x405000},
                                                     {0x20000000, 0x20008000},
                                                     {0x30000000, 0x30001000},
                                                     {0x50000000, 0x50001000}}));
  const std::vector<Place> bound{0x403000, 0x20000000};
  EXPECT_EQ(manageable(maps, bound),
            (std::vector<Area>{
                {0x402000, 0x403000}, {0x30000000, 0x30001000}, {0x50000000, 0x50001000}}));
}

TEST(AttachAreas, AreLeftAloneThatTheProcessHasBoundToNodesItself) {
  EXPECT_EQ(bound("00400000 default file=/usr/bin/program mapped=1 N0=1\n"
                  "10000000 bind:1 anon=4 dirty=4 N1=4\n"
                  "20000000 default anon=2 dirty=2 N0=2\n"
                  "7ffd0000 default stack anon=3 dirty=3 N0=3\n"),
            std::vector<Place>{0x10000000});
  EXPECT_TRUE(bound("10000000 bind:0 anon=4 N0=4\n7ffd0000 bind:0 stack anon=3 N0=3\n").empty());
}

TEST(AttachAreas, AreCutToThoseThatAreWanted) {
  const std::vector<Area> areas{{0x1000, 0x5000}, {0x8000, 0xa000}, {0xc000, 0xd000}};
  const std::vector<Area> wanted{{0x2000, 0x3000}, {0x4000, 0x9000}};
  EXPECT_EQ(common(areas, wanted),
            (std::vector<Area>{{0x2000, 0x3000}, {0x4000, 0x5000}, {0x8000, 0x9000}}));
  EXPECT_TRUE(common(areas, {{0x6000, 0x7000}}).empty());
}

}  // namespace test_file
}  // namespace nearfar::tier::attach

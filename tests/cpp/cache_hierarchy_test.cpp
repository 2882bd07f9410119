#include "sim/cpu/hierarchy.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"

/// The caches of a socket, small enough that everything happens often.
namespace nearfar::sim::cpu {
namespace test_file {

using Kind = Hierarchy::Kind;
using Level = Hierarchy::Level;
using State = Hierarchy::Answer::State;

HierarchyConfig small(bool inclusive = false) {
  HierarchyConfig config;
  config.l1 = {.size = 1024, .ways = 2, .latency = Tick(2'000), .mshrs = 4, .policy = Policy::plru};
  config.l2 = {.size = 4096, .ways = 4, .latency = Tick(6'000), .mshrs = 6, .policy = Policy::plru};
  config.l3 = {.size = 24 * 1024,
               .ways = 4,
               .latency = Tick(20'000),
               .mshrs = 1000,
               .slices = 3,
               .policy = Policy::random};
  config.tlb = {.page = Tlb::huge_page,
                .entries = 16,
                .huge_entries = 16,
                .ways = 4,
                .huge_ways = 4,
                .second_entries = 64,
                .second_ways = 4,
                .directory_entries = 4,
                .walkers = 2,
                .second_latency = Tick(3'000)};
  config.inclusive = inclusive;
  config.writebacks = 1000;
  config.tables.apart = Tick(80'000);
  return config;
}

/// Caches whose memory answers when told to.
class Socket {
 public:
  explicit Socket(const HierarchyConfig& config, std::size_t cores = 1) : caches(config, 1) {
    caches.add_cores(cores);
  }

  /// An access that waits for its end; where it hit.
  Level play(Hierarchy::Core core, Line line, Kind kind) {
    const Address address(line * line_bytes);
    auto answer = caches.access(core, address, kind, next_waiter_);
    if (answer.state == State::walks) {
      walk();
      answer = caches.access(core, address, kind, next_waiter_, true);
    }
    ++next_waiter_;
    collect();
    EXPECT_NE(answer.state, State::full);
    if (answer.state == State::waits) answer_all();
    if (answer.state == State::hit && answer.level != Level::l1) caches.release(core, Tick{});
    if (kind == Kind::store) {
      EXPECT_TRUE(caches.commit(core, Address(line * line_bytes)));
      collect();
    }
    return answer.state == State::waits ? Level::memory : answer.level;
  }

  void collect() {
    for (const auto& transfer : caches.transfers()) {
      if (transfer.write) {
        ++written[transfer.line];
        written_now.push_back(transfer.line);
        caches.written(transfer.core);
      } else {
        ++read[transfer.line];
        asked.push_back(transfer.miss);
      }
    }
    caches.transfers().clear();
  }

  /// Ends all walks and returns what waited for them.
  std::vector<Hierarchy::Waiter> walk() {
    std::vector<Hierarchy::Waiter> woken;
    while (!caches.ends().empty()) {
      const Hierarchy::End end = caches.ends().back();
      caches.ends().pop_back();
      caches.walked(end.walk, woken);
    }
    return woken;
  }

  std::vector<Hierarchy::Waiter> answer_all() {
    std::vector<Hierarchy::Waiter> woken;
    while (!asked.empty()) {
      const Hierarchy::Miss miss = asked.front();
      asked.pop_front();
      caches.filled(miss, woken);
      collect();
    }
    return woken;
  }

  Hierarchy caches;
  std::map<Line, std::uint64_t> read, written;
  std::vector<Line> written_now;  ///< since a test cleared it
  std::deque<Hierarchy::Miss> asked;

 private:
  Hierarchy::Waiter next_waiter_ = 0;
};

Address at(Line line) { return Address(line * line_bytes); }

TEST(Hierarchy, TheHierarchyAnswersFromTheNearestLevelThatHasTheLine) {
  Socket socket(small());
  EXPECT_EQ(socket.play(0, 0, Kind::load), Level::memory);
  EXPECT_EQ(socket.play(0, 0, Kind::load), Level::l1);
  // Two further lines of its L1 set push it out of L1, five of its L2 set out of L2.
  for (Line line = 8; line <= 16; line += 8) socket.play(0, line, Kind::load);
  EXPECT_EQ(socket.play(0, 0, Kind::load), Level::l2);
  for (Line line = 16; line <= 80; line += 16) socket.play(0, line, Kind::load);
  EXPECT_EQ(socket.play(0, 0, Kind::load), Level::l3);
  EXPECT_EQ(socket.read[0], 1u);
}

TEST(Hierarchy, TheHierarchyTakesTheLatencyOfTheLevelAndOfTheTranslation) {
  Socket socket(small());
  socket.play(0, 0, Kind::load);
  EXPECT_EQ(socket.caches.access(0, at(0), Kind::load, 0).latency, Tick(2'000));
  // A page not seen before: second level, then its entry, which lies in a line of its own.
  const Line far = 100 * Tlb::huge_page / line_bytes;
  EXPECT_EQ(socket.caches.access(0, at(far), Kind::load, 0).state, State::walks);
  ASSERT_EQ(socket.caches.ends().size(), 1u);
  EXPECT_EQ(socket.caches.ends()[0].delay, Tick(3'000 + 80'000));
  EXPECT_EQ(socket.walk(), std::vector<Hierarchy::Waiter>{0});
  const auto first = socket.caches.access(0, at(far), Kind::load, 0, true);
  EXPECT_EQ(first.state, State::waits);
  EXPECT_EQ(first.latency, Tick(0));
  // Its neighbour's entry lies in the same line, now in L1.
  const Line neighbour = far + Tlb::huge_page / line_bytes;
  EXPECT_EQ(socket.caches.access(0, at(neighbour), Kind::load, 1).state, State::walks);
  EXPECT_EQ(socket.caches.ends()[0].delay, Tick(3'000 + 2'000));
}

TEST(Hierarchy, TheHierarchyAsksMemoryOnceForALineThatManyWaitFor) {
  Socket socket(small(), 2);
  for (Hierarchy::Waiter id = 0; id < 5; ++id) {
    EXPECT_EQ(socket.caches.access(0, at(7), Kind::load, id, true).state, State::waits);
  }
  EXPECT_EQ(socket.caches.access(1, at(7), Kind::store, 5, true).state, State::waits);
  socket.collect();
  EXPECT_EQ(socket.read[7], 1u);
  EXPECT_EQ(socket.answer_all(), (std::vector<Hierarchy::Waiter>{0, 1, 2, 3, 4, 5}));
}

TEST(Hierarchy, TheHierarchyHasAsManyMissesOutAsRegisters) {
  Socket socket(small());
  for (Hierarchy::Waiter id = 0; id < 4; ++id) {
    EXPECT_EQ(socket.caches.access(0, at(100 + id), Kind::load, id, true).state, State::waits);
  }
  EXPECT_EQ(socket.caches.access(0, at(200), Kind::load, 9, true).state, State::full);
  // One that has a register already does not need another.
  EXPECT_EQ(socket.caches.access(0, at(101), Kind::load, 10, true).state, State::waits);
  socket.collect();
  socket.answer_all();
  EXPECT_EQ(socket.caches.access(0, at(200), Kind::load, 11, true).state, State::waits);
}

TEST(Hierarchy, TheHierarchyStartsNoMissWhileItsWriteBacksPileUp) {
  HierarchyConfig config = small();
  config.writebacks = 1;
  Hierarchy caches(config, 1);
  caches.add_cores(1);
  std::vector<Hierarchy::Waiter> woken;
  std::uint64_t writes = 0;
  for (Line line = 0; writes == 0; ++line) {
    ASSERT_LT(line, 2'000u);
    ASSERT_EQ(caches.access(0, at(line), Kind::store, 0, true).state, State::waits);
    for (const auto transfer : std::vector(caches.transfers())) {
      if (!transfer.write) caches.filled(transfer.miss, woken);
    }
    for (const auto& transfer : caches.transfers()) writes += transfer.write ? 1 : 0;
    caches.transfers().clear();
    ASSERT_TRUE(caches.commit(0, at(line)));
  }
  EXPECT_EQ(caches.access(0, at(5'000), Kind::load, 0, true).state, State::full);
  while (writes-- > 0) caches.written(0);
  EXPECT_EQ(caches.access(0, at(5'000), Kind::load, 0, true).state, State::waits);
}

/// Random accesses of several cores, against what each line is owed: a write-back for each time
/// it became dirty in memory's eyes, and not one more.
class Conservation : public ::testing::TestWithParam<std::tuple<bool, std::size_t>> {};

TEST_P(Conservation, TheHierarchyWritesEachDirtyLineBackExactlyOnce) {
  const auto [inclusive, cores] = GetParam();
  Socket socket(small(inclusive), cores);
  Rng rng(11);
  std::map<Line, bool> dirty;  // somewhere in the caches
  std::map<Line, std::uint64_t> owed;
  for (int i = 0; i < 40'000; ++i) {
    const auto core = static_cast<Hierarchy::Core>(rng.below(cores));
    const Line line = rng.below(1'500);
    const std::uint64_t what = rng.below(10);
    if (what == 0) {
      const bool keep = rng.below(2) == 0;
      ASSERT_EQ(socket.caches.flush(at(line), keep), dirty[line]) << "line " << line;
      dirty[line] = false;
      ASSERT_TRUE(keep || !socket.caches.where(core, at(line)).has_value());
      continue;
    }
    socket.written_now.clear();
    socket.play(core, line, what < 5 ? Kind::store : Kind::load);
    for (const Line written : socket.written_now) {
      // It can only have left for memory if it was dirty, and no core has it dirty now.
      ASSERT_TRUE(dirty[written]) << "line " << written << " at access " << i;
      dirty[written] = false;
    }
    if (what < 5) dirty[line] = true;
  }
  // What is still dirty is exactly what flushes find.
  std::uint64_t left = 0;
  for (Line line = 0; line < 1'500; ++line) {
    ASSERT_EQ(socket.caches.flush(at(line), false), dirty[line]);
    left += dirty[line] ? 1 : 0;
  }
  EXPECT_GT(left, 50u);
}

TEST_P(Conservation, TheHierarchyKeepsInclusionBetweenItsLevels) {
  const auto [inclusive, cores] = GetParam();
  Socket socket(small(inclusive), cores);
  Rng rng(12);
  for (int i = 0; i < 5'000; ++i) {
    const auto core = static_cast<Hierarchy::Core>(rng.below(cores));
    socket.play(core, rng.below(700), rng.below(2) == 0 ? Kind::store : Kind::load);
    if (i % 50 != 0) continue;
    for (Line line = 0; line < 700; ++line) {
      std::uint64_t owners = 0;
      for (std::size_t c = 0; c < cores; ++c) {
        const Cache& l1 = socket.caches.l1(static_cast<Hierarchy::Core>(c));
        const Cache& l2 = socket.caches.l2(static_cast<Hierarchy::Core>(c));
        const bool in_l2 = l2.find(line) != Cache::none;
        ASSERT_TRUE(in_l2 || l1.find(line) == Cache::none);
        ASSERT_TRUE(!inclusive || !in_l2 || socket.caches.l3().find(line) != Cache::none);
        const bool dirty = (in_l2 && l2.dirty(l2.find(line))) ||
                           (l1.find(line) != Cache::none && l1.dirty(l1.find(line)));
        owners += dirty ? 1 : 0;
        if (!dirty) continue;
        for (std::size_t other = 0; other < cores; ++other) {
          if (other == c) continue;
          ASSERT_EQ(socket.caches.l2(static_cast<Hierarchy::Core>(other)).find(line), Cache::none);
        }
        const Cache::Slot slot = socket.caches.l3().find(line);
        ASSERT_TRUE(slot == Cache::none || !socket.caches.l3().dirty(slot));
      }
      ASSERT_LE(owners, 1u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Conservation,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(1u, 3u)));

TEST(Hierarchy, TheHierarchyTellsAStoreThatItsLineWasTakenAway) {
  Socket socket(small(), 2);
  socket.play(0, 5, Kind::load);
  EXPECT_EQ(socket.play(1, 5, Kind::store), Level::l3);  // another core has it
  EXPECT_FALSE(socket.caches.commit(0, at(5)));
  EXPECT_TRUE(socket.caches.commit(1, at(5)));
}

TEST(Hierarchy, TheHierarchyGivesAnUncachedAccessNoPlace) {
  Socket socket(small());
  EXPECT_EQ(socket.caches.where(0, at(3)), std::nullopt);
  socket.play(0, 3, Kind::load);
  EXPECT_EQ(socket.caches.where(0, at(3)), Level::l1);
  EXPECT_FALSE(socket.caches.flush(at(3), false));
  EXPECT_EQ(socket.caches.where(0, at(3)), std::nullopt);
}

TEST(Hierarchy, TheHierarchyThrowsOutLinesAtTheirSliceWhicheverCoreCausedIt) {
  const Socket socket(small(), 2);
  std::set<std::uint16_t> slices;
  for (Line line = 0; line < 64; ++line) {
    const Address address(line * line_bytes);
    const std::uint16_t at = socket.caches.waits_at(0, address, true);
    EXPECT_EQ(at, socket.caches.waits_at(1, address, true));
    EXPECT_EQ(at, socket.caches.l3().slice_of(line));
    slices.insert(at);
  }
  EXPECT_EQ(slices, (std::set<std::uint16_t>{0, 1, 2}));
}

TEST(Hierarchy, TheHierarchySendsTheWritesOfACoreFromThatCore) {
  const Socket socket(small(), 2);
  for (Line line = 0; line < 64; ++line) {
    EXPECT_EQ(socket.caches.waits_at(0, Address(line * line_bytes), false), 3);
    EXPECT_EQ(socket.caches.waits_at(1, Address(line * line_bytes), false), 4);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu

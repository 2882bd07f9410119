#include "sim/imc/near_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "near_fixture.h"
#include "sim/machine/build.h"

/// What each kind of access costs: DRAM and far memory requests, counted where they are made.
namespace nearfar::sim::testing {
namespace test_file {

/// A machine with near memory, to which one request after the other is sent.
class Near {
 public:
  explicit Near(const Overrides& overrides = {}) : memory_(build(near_optane(overrides))) {}

  /// Plays one request until nothing is left of it; when it was answered.
  Tick play(Op op, std::uint64_t address) {
    Request request;
    request.op = op;
    request.address = Address(address);
    EXPECT_TRUE(memory_->try_send(request, now_).accepted);
    Sink sink;
    const Tick sent = now_;
    now_ += Tick(750) * 2'000'000;  // to a clock edge
    memory_->advance(now_, sink);
    EXPECT_EQ(sink.size(), 1u);
    EXPECT_TRUE(memory_->idle());
    return sink.front().time - sent;
  }

  /// What one request adds to the counters.
  struct Cost {
    std::uint64_t near_reads, near_writes, far_reads, far_writes;
    friend bool operator==(const Cost&, const Cost&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Cost& cost) {
      return out << "near " << cost.near_reads << " reads " << cost.near_writes << " writes, far "
                 << cost.far_reads << " reads " << cost.far_writes << " writes";
    }
  };
  Cost cost(Op op, std::uint64_t address) {
    const Cost before = so_far();
    play(op, address);
    const Cost after = so_far();
    return {after.near_reads - before.near_reads, after.near_writes - before.near_writes,
            after.far_reads - before.far_reads, after.far_writes - before.far_writes};
  }

  Device& memory() { return *memory_; }

 private:
  Cost so_far() {
    return {near_dram(*memory_, "read_bursts"), near_dram(*memory_, "write_bursts"),
            counter(*memory_, "channel.0.reads"), counter(*memory_, "channel.0.writes")};
  }

  std::unique_ptr<Device> memory_;
  Tick now_{};
};

using Cost = Near::Cost;
constexpr std::uint64_t there = 65536;  // as far away as near memory is large: a conflict

TEST(NearMemory, AReadHitIsOneDramAccess) {
  Near near;
  near.play(Op::read, 640);
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 0, 0, 0}));
}

TEST(NearMemory, AReadMissIsAProbeAndAFill) {
  Near near;
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 1, 1, 0}));
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{1, 1, 1, 0})) << "a clean victim is dropped";
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 1, 1, 0}));
}

TEST(NearMemory, AWriteHitIsAProbeAndAWrite) {
  Near near;
  near.play(Op::read, 640);
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 1, 0, 0}));
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 1, 0, 0})) << "dirty or not";
}

TEST(NearMemory, AWriteMissOfAFullLineIsThreeDramAccessesAndFetchesNothing) {
  Near near;
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 2, 0, 0}));
}

TEST(NearMemory, DirtyVictimsAddFarWritesOnly) {
  Near near;
  near.play(Op::write, 640);
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{1, 1, 1, 1}));
  near.play(Op::write, 640);
  EXPECT_EQ(near.cost(Op::write, 640 + there), (Cost{1, 2, 0, 1}));
}

TEST(NearMemory, AWriteMissMayBeToldToFetch) {
  Near near(Overrides{{"near.write_fetch", "true"}});
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 2, 1, 0}));
}

TEST(NearMemory, WriteThroughLeavesNothingDirty) {
  Near near(Overrides{{"near.write", "through"}});
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 2, 0, 1}));
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 1, 0, 1}));
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{1, 1, 1, 0}));
}

TEST(NearMemory, EveryWayIsProbedWhereTheTagsAreInEcc) {
  Near near(Overrides{{"near.ways", "4"}});
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{4, 1, 1, 0}));
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{4, 0, 0, 0}));
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{4, 1, 0, 0}));
}

TEST(NearMemory, TagsInDataTakeAccessesOfTheirOwn) {
  Near near(Overrides{{"near.tags", "data"}, {"near.ways", "4"}});
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 2, 1, 0})) << "tags; fill and tag";
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{2, 0, 0, 0})) << "tags, data";
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 2, 0, 0})) << "tags; data and dirty bit";
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 1, 0, 0})) << "tags; data";
}

TEST(NearMemory, TagsInDataOfADirtyVictimAreFollowedByAReadOfIt) {
  Near near(Overrides{{"near.tags", "data"}});
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 3, 0, 0})) << "tags; tag, claim and data";
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{2, 2, 1, 1}));
}

TEST(NearMemory, ALongLineIsFetchedAndWrittenBackWhole) {
  Near near(Overrides{{"near.line", "256"}});
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 4, 4, 0}));
  EXPECT_EQ(near.cost(Op::read, 704), (Cost{1, 0, 0, 0}));
  EXPECT_EQ(near.cost(Op::write, 704), (Cost{1, 1, 0, 0}));
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{4, 4, 4, 4})) << "one block came by the probe";
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 5, 3, 0})) << "the others, the claim and the data";
}

TEST(NearMemory, DirtySectorsAreWrittenBackAlone) {
  Near near(Overrides{{"near.line", "256"}, {"near.dirty", "sector"}});
  near.play(Op::read, 640);
  near.play(Op::write, 704);
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{2, 4, 4, 1})) << "another than was probed";
  near.play(Op::write, 640 + there);
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 4, 4, 1})) << "the one that was probed";
}

TEST(NearMemory, ANearMemoryThatIsNotInclusiveKeepsOnlyWrites) {
  Near near(Overrides{{"near.inclusive", "false"}});
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 0, 1, 0}));
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 0, 1, 0}));
  EXPECT_EQ(near.cost(Op::write, 640), (Cost{1, 2, 0, 0}));
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{1, 0, 0, 0}));
  EXPECT_EQ(near.cost(Op::read, 640 + there), (Cost{1, 0, 1, 0})) << "and evict nothing";
}

TEST(NearMemory, PrefetchBringsTheNextLineToo) {
  Near near(Overrides{{"near.prefetch", "next_line"}});
  EXPECT_EQ(near.cost(Op::read, 640), (Cost{2, 2, 2, 0}));
  EXPECT_EQ(near.cost(Op::read, 704), (Cost{1, 0, 0, 0})) << "a hit fetches nothing";
  EXPECT_EQ(near.cost(Op::read, 576), (Cost{2, 1, 1, 0})) << "the next one was there";
}

TEST(NearMemory, AppDirectAccessesGoPastNearMemory) {
  const std::uint64_t direct = 1073741824 - 4096;
  Near near(Overrides{{"near.app_direct", "4096"}});
  EXPECT_EQ(near.cost(Op::read, direct), (Cost{0, 0, 1, 0}));
  EXPECT_EQ(near.cost(Op::write, direct), (Cost{0, 0, 0, 1}));
  EXPECT_EQ(near.cost(Op::read, direct - 64), (Cost{1, 1, 1, 0}));
}

TEST(NearMemory, AHitTakesADramReadAndTheControllersLatency) {
  Near near(Overrides{{"near.dram.refresh.enabled", "false"}});
  near.play(Op::read, 640);
  // The row is open: a read takes tCL and the burst of four clocks, from the next clock edge.
  EXPECT_EQ(near.play(Op::read, 640), Tick(750 * (19 + 4 + 1) + 2000));
}

TEST(NearMemory, AWriteIsDoneWhenItIsTaken) {
  Near near;
  EXPECT_EQ(near.play(Op::write, 640), Tick(0));
  EXPECT_EQ(near.play(Op::write, 640), Tick(0));
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

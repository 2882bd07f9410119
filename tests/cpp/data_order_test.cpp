#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "machine_bench.h"

/// Whatever way a write takes and wherever its block moves meanwhile, a later read returns the
/// last data written. The property test says so of random machines; here each way is taken on
/// purpose.
namespace nearfar::sim::testing {
namespace test_file {

constexpr Bytes page = 4096;
const Tick long_after(1'000'000'000);

using Ids = std::vector<std::uint64_t>;

Request media_write_of(std::uint64_t id, std::uint64_t address, DataHandle data) {
  Request request = write_of(id, address, data);
  request.tell_media = true;
  return request;
}

TEST(DataOrder, TheDimmKeepsTwoWritesOfALineInOrderWhileTheirTranslationWaits) {
  // Another page's translation keeps the only entry busy, so the first write of the line has to
  // wait for it. The second must not slip in before it, whenever it comes.
  for (std::uint64_t apart = 0; apart < 400'000; apart += 1000) {
    Bench bench({{"nvdimm.buffer.2.entries", "1"},
                 {"nvdimm.buffer.2.ways", "1"},
                 {"nvdimm.lsq.high", "0"},
                 {"nvdimm.lsq.hold", "0"}});
    ASSERT_TRUE(bench.send(write_of(1, 5 * page, 77)));
    ASSERT_TRUE(bench.send(media_write_of(2, page, 1)));
    bench.advance(Tick(apart));
    ASSERT_TRUE(bench.send(media_write_of(3, page, 2)));
    bench.advance(long_after);
    ASSERT_EQ(bench.stored(), (Ids{2, 3})) << apart << " ps apart";
  }
}

TEST(DataOrder, TheDimmKeepsTheLastWriteOfALineWhenItsBlockMovesAndItOvertakesAnEarlierOne) {
  // Three writes wait for one partition. The first is on the media and has its block moved while
  // the other two still wait; a fourth write goes to another partition, past the third.
  std::uint64_t overtakes = 0;
  for (std::uint64_t apart = 0; apart < 6'000'000; apart += 20'000) {
    Bench bench({{"nvdimm.buffer.1.entries", "1"},
                 {"nvdimm.buffer.1.ways", "1"},
                 {"nvdimm.buffer.2.entry", "512"},
                 {"nvdimm.media.write_partition", "2000000"},
                 {"nvdimm.wear.block", "512"},
                 {"nvdimm.wear.writes", "1"},
                 {"nvdimm.wear.stall", "0"},
                 {"nvdimm.wear.spares", "1"},
                 {"nvdimm.lsq.high", "0"},
                 {"nvdimm.lsq.hold", "0"}});
    // Page 1 moves to the spare block, so page 0 will move to page 1's place.
    ASSERT_TRUE(bench.send(write_of(1, 512, 77)));
    const Tick start = long_after;
    bench.advance(start);
    ASSERT_TRUE(bench.send(write_of(2, 0, 77)));
    ASSERT_TRUE(bench.send(write_of(3, 64, 77)));
    ASSERT_TRUE(bench.send(media_write_of(4, 128, 1)));
    bench.advance(start + Tick(apart));
    ASSERT_TRUE(bench.send(media_write_of(5, 128, 2)));
    bench.advance(start + long_after);
    if (bench.stored() == Ids{5, 4}) ++overtakes;
    ASSERT_TRUE(bench.send(read_of(6, 100 * page)));
    bench.wait_for(6);  // now the block is only on the media
    ASSERT_TRUE(bench.send(read_of(7, 128)));
    ASSERT_EQ(bench.wait_for(7).data, 2u) << apart << " ps apart";
  }
  EXPECT_GT(overtakes, 0u) << "the case is not met";
}

TEST(DataOrder, TheDimmLetsAReadSeeTheLastWriteAtEveryStageOfItsWay) {
  // From the write pending queue to the media takes this line 25 us; every 50 ns another machine
  // is asked.
  std::uint64_t forwards = 0;
  std::uint64_t lsq_forwards = 0;
  std::uint64_t rmw_hits = 0;
  std::uint64_t rmw_misses = 0;
  for (std::uint64_t after = 0; after < 25'000'000; after += 50'000) {
    Bench bench({{"nvdimm.buffer.1.entries", "1"}, {"nvdimm.buffer.1.ways", "1"}});
    ASSERT_TRUE(bench.send(write_of(1, 64, 1)));
    bench.advance(Tick(100'000'000));  // on the media
    ASSERT_TRUE(bench.send(read_of(2, page)));
    bench.wait_for(2);  // and out of the RMW buffer
    const auto before = counters_of(bench.machine());
    const Tick start = bench.now();
    ASSERT_TRUE(bench.send(write_of(3, 64, 2)));
    bench.advance(start + Tick(after));
    ASSERT_TRUE(bench.send(read_of(4, 64)));
    ASSERT_EQ(bench.wait_for(4).data, 2u) << "after " << after << " ps";
    const auto now = counters_of(bench.machine());
    const auto counted = [&](const char* name) { return now.at(name) - before.at(name); };
    forwards += counted("channel.0.wpq.forwards");
    lsq_forwards += counted("channel.0.dimm.lsq.forwards");
    rmw_hits += counted("channel.0.dimm.rmw.hits");
    rmw_misses += counted("channel.0.dimm.rmw.misses");
  }
  EXPECT_EQ(forwards, 1u) << "3 ns in the write pending queue";
  EXPECT_EQ(lsq_forwards, 399u) << "20 us in the load-store queue";
  EXPECT_EQ(rmw_hits, 100u) << "then in the RMW buffer, whose only block it is";
  EXPECT_EQ(rmw_misses, 0u);
}

TEST(DataOrder, TheDimmFindsItsDataWhereverTheBlockHasMoved) {
  // Every write moves its block; after each, every line of four blocks is read from the media.
  Bench bench({{"nvdimm.buffer.1.entries", "1"},
               {"nvdimm.buffer.1.ways", "1"},
               {"nvdimm.wear.writes", "1"},
               {"nvdimm.wear.spares", "3"},
               {"nvdimm.lsq.hold", "0"}});
  std::uint64_t id = 0;
  std::vector<DataHandle> last(4);
  Rng rng(3);
  for (DataHandle data = 1; data <= 200; ++data) {
    const std::uint64_t block = rng.below(4);
    last[block] = data;
    ASSERT_TRUE(bench.send(write_of(++id, block * page + 192, data)));
    bench.advance(bench.now() + long_after);
    for (std::uint64_t other = 0; other < 4; ++other) {
      ASSERT_TRUE(bench.send(read_of(++id, other * page + 192)));
      ASSERT_EQ(bench.wait_for(id).data, last[other]);
      ASSERT_TRUE(bench.send(read_of(++id, other * page)));
      ASSERT_EQ(bench.wait_for(id).data, 0u) << "never written";
    }
  }
  EXPECT_EQ(counters_of(bench.machine()).at("channel.0.dimm.wear.migrations"), 200u);
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

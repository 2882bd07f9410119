#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "effort.h"
#include "machine_fixture.h"
#include "sim/imc/ddrt_channel.h"

/// What reaches the media, recomputed from what the callers were told: bytes, amplification,
/// energy, wear, and where the blocks are afterwards.
namespace nearfar::sim::testing {
namespace test_file {

/// One memory channel as a device, so that its DIMM can be looked into.
class ChannelDevice final : public Device {
 public:
  explicit ChannelDevice(const Settings& settings)
      : config_(nvdimm::config_from(settings)),
        channel_(imc::ddrt_config_from(settings), config_, 0, nullptr) {}

  Accept try_send(const Request& request, Tick now) override {
    return channel_.try_send(request, request.address, now);
  }
  [[nodiscard]] Tick next_event() const override { return channel_.next_event(); }
  void advance(Tick until, Sink& sink) override { channel_.advance(until, sink, false); }
  [[nodiscard]] Bytes capacity() const override { return config_.media.capacity; }
  [[nodiscard]] bool idle() const override { return channel_.idle(); }
  void register_counters(Counters& counters) const override {
    channel_.register_counters(counters, "");
  }

  [[nodiscard]] const nvdimm::Config& config() const { return config_; }
  [[nodiscard]] const nvdimm::WearLeveler& wear() const { return channel_.dimm().wear(); }

 private:
  nvdimm::Config config_;
  imc::DdrtChannel channel_;
};

/// A machine, a stream of reads and of writes whose ends are told, and what came of it.
struct Played {
  explicit Played(std::uint64_t seed, const Overrides& overrides = {})
      : settings(settings_of(seed, overrides)), device(settings) {
    Rng rng(seed);
    StreamShape shape;
    shape.count = 3000;
    shape.writes_percent = static_cast<std::uint32_t>(30 + rng.below(71));
    shape.hot_percent = static_cast<std::uint32_t>(rng.below(101));
    shape.mean_gap_ps = std::uint64_t{1} << (8 + rng.below(11));
    arrivals = random_stream(device.capacity(), shape, seed);
    for (Arrival& arrival : arrivals) {
      arrival.request.tell_media = arrival.request.op == Op::write;
    }
    outcome = drive(device, arrivals);
    for (const Completion& completion : outcome.completions) {
      if (completion.kind != Completion::Kind::media) continue;
      // A block is written at one instant, with all its lines that were combined.
      blocks_written.emplace(completion.time, completion.address.block(block_bytes()));
    }
  }

  [[nodiscard]] Bytes block_bytes() const { return device.config().rmw.entry; }
  [[nodiscard]] std::uint64_t count(const std::string& name) const {
    return outcome.counters.at("dimm." + name);
  }
  [[nodiscard]] std::uint64_t host_lines(Op op) const {
    return static_cast<std::uint64_t>(
        std::count_if(arrivals.begin(), arrivals.end(),
                      [&](const Arrival& arrival) { return arrival.request.op == op; }));
  }

  Settings settings;
  ChannelDevice device;
  std::vector<Arrival> arrivals;
  Outcome outcome;
  std::set<std::pair<Tick, std::uint64_t>> blocks_written;

 private:
  static Settings settings_of(std::uint64_t seed, const Overrides& overrides) {
    Settings settings = random_optane(seed);
    settings.set("channels", "1");
    // Of entries of several blocks a miss brings in those that are missing, however many.
    settings.set("nvdimm.media.access", settings.name("nvdimm.buffer.1.entry"));
    apply(settings, overrides);
    return settings;
  }
};

class MediaTraffic : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MediaTraffic, MediaTrafficIsThatOfReportedWritesPlusThatOfMoves) {
  const Played run(GetParam(), {{"nvdimm.buffer.2.fill", "none"}});
  const std::uint64_t written = run.blocks_written.size();
  const std::uint64_t moved = run.count("wear.migrations") * run.device.config().wear.block;
  EXPECT_EQ(run.count("media.writes"), written);
  EXPECT_EQ(run.count("media.write_bytes"), written * run.block_bytes() + moved);
  // Every read that was not answered by a queue or the RMW buffer fetched one block.
  const std::uint64_t fetched = run.host_lines(Op::read) - run.outcome.counters.at("wpq.forwards") -
                                run.count("lsq.forwards") - run.count("rmw.hits");
  EXPECT_EQ(run.count("media.read_bytes"), fetched * run.block_bytes() + moved);

  // Combining can only make a block of lines that were sent, and loses none.
  EXPECT_LE(written, run.host_lines(Op::write));
  EXPECT_GE(written * run.block_bytes(), run.host_lines(Op::write) * line_bytes);
  EXPECT_EQ(run.count("write_lines"), run.host_lines(Op::write));
  EXPECT_EQ(run.count("lsq.lines_combined"), run.host_lines(Op::write) - written);
}

TEST_P(MediaTraffic, MediaTrafficCostsItsEnergy) {
  const Played run(GetParam());
  const nvdimm::MediaConfig& media = run.device.config().media;
  EXPECT_EQ(run.count("media.energy.read_pj"),
            run.count("media.read_bytes") / media.access *
                static_cast<std::uint64_t>(media.read_energy_pj));
  EXPECT_EQ(run.count("media.energy.write_pj"),
            run.count("media.write_bytes") / media.access *
                static_cast<std::uint64_t>(media.write_energy_pj));
}

TEST_P(MediaTraffic, MediaTrafficWearsEachBlockByTheWritesToIt) {
  // Blocks move after `least` to `most` writes, at first after half of that at the earliest.
  const Played run(GetParam(), {{"nvdimm.wear.stall", "0"}, {"nvdimm.wear.spares", "3"}});
  const nvdimm::WearConfig& wear = run.device.config().wear;
  std::map<std::uint64_t, std::uint64_t> writes;
  for (const auto& [time, block] : run.blocks_written) {
    ++writes[block * run.block_bytes() / wear.block];
  }
  const auto threshold = [&](double factor) {
    return std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(wear.writes) * factor));
  };
  const std::uint64_t least = threshold(1 - wear.spread);
  const std::uint64_t most = threshold(1 + wear.spread);
  std::uint64_t fewest_moves = 0;
  std::uint64_t most_moves = 0;
  std::uint64_t total = 0;
  for (const auto& [block, count] : writes) {
    total += count;
    fewest_moves += count / most;
    most_moves += (count + least / 2) / least;
  }
  EXPECT_EQ(total, run.count("media.writes"));
  if (wear.writes == 0) {
    EXPECT_EQ(run.count("wear.migrations"), 0u);
  } else {
    EXPECT_GE(run.count("wear.migrations"), fewest_moves);
    EXPECT_LE(run.count("wear.migrations"), most_moves);
  }
  std::uint64_t minor = 0;
  for (const auto& family : wear.minor) minor += family.interval == 0 ? 0 : total / family.interval;
  EXPECT_EQ(run.count("wear.minor_stalls"), minor);
  EXPECT_EQ(run.count("table.writes"),
            run.count("wear.migrations") * (wear.block / run.device.config().page()));
}

TEST_P(MediaTraffic, MediaTrafficLeavesEveryBlockAPlaceOfItsOwn) {
  const Played run(GetParam());
  const nvdimm::WearConfig& wear = run.device.config().wear;
  const std::uint64_t blocks = run.device.capacity() / wear.block;
  const nvdimm::WearLeveler& map = run.device.wear();
  ASSERT_EQ(map.media_blocks(), blocks + wear.spares);
  std::set<std::uint64_t> places;
  std::set<std::uint64_t> moved;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    ASSERT_LT(map.place_of(block), map.media_blocks());
    ASSERT_TRUE(places.insert(map.place_of(block)).second) << "two blocks in one place";
    if (map.place_of(block) != block) moved.insert(block);
  }
  EXPECT_LE(moved.size(), run.count("wear.migrations"));
  if (wear.writes == 0 || wear.spares == 0) {
    EXPECT_EQ(run.count("wear.migrations"), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MediaTraffic, ::testing::Range(std::uint64_t{1}, 1 + cases(40)));

TEST(MediaTraffics, MediaTrafficIsMadeOfCombinedWritesOfMovesAndOfStalls) {
  // What the tests above compare is not nothing.
  std::map<std::string, std::uint64_t> sums;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Played run(seed);
    for (const auto& [name, count] : run.outcome.counters) sums[name] += count;
  }
  for (const char* name : {"dimm.lsq.lines_combined", "dimm.wear.migrations",
                           "dimm.wear.minor_stalls", "dimm.media.writes", "dimm.rmw.hits"}) {
    EXPECT_GT(sums.at(name), 1000u) << name;
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

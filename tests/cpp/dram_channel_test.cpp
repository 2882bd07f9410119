#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/settings.h"
#include "dram_fixture.h"
#include "sim/dram/mapping.h"

namespace nearfar::sim::dram::testing {
namespace test_file {

Request request(Op op, std::uint64_t line, std::uint64_t id = 0, std::uint16_t port = 0) {
  Request request;
  request.id = id;
  request.address = Address(line * line_bytes);
  request.op = op;
  request.port = port;
  return request;
}

Arrival arrival(Tick time, Op op, std::uint64_t line, std::uint64_t id = 0) {
  return {time, request(op, line, id)};
}

Sink run(Channel& channel) {
  Sink sink;
  while (!channel.idle()) channel.advance(channel.next_event(), sink);
  return sink;
}

std::uint64_t count(const std::vector<CommandRecord>& commands, Command command) {
  return static_cast<std::uint64_t>(
      std::count_if(commands.begin(), commands.end(),
                    [&](const CommandRecord& record) { return record.command == command; }));
}

// ---- What callers are told.

TEST(DramChannel, EveryRequestIsDoneOnceWithItsCallersIdAddressAndData) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Config config = random_config(seed);
    StreamShape shape;
    shape.hot_percent = 80;  // many requests of the same few lines
    shape.mean_gap_ps = 2000;
    const auto arrivals = random_stream(config, shape, seed);
    std::map<std::pair<std::uint64_t, Completion::Kind>, int> told;
    Tick before;
    for (const Completion& completion : drive(config, Mode::next_event, arrivals).completions) {
      EXPECT_LE(before, completion.time);
      before = completion.time;
      if (completion.kind == Completion::Kind::wake) continue;
      ++told[{completion.id, completion.kind}];
      const Request& sent = arrivals.at(completion.id - arrivals.front().request.id).request;
      EXPECT_EQ(completion.address, sent.address);
      EXPECT_EQ(completion.data, sent.data);
    }
    std::size_t expected = 0;
    for (const Arrival& sent : arrivals) {
      EXPECT_EQ((told[{sent.request.id, Completion::Kind::done}]), 1);
      EXPECT_EQ((told[{sent.request.id, Completion::Kind::media}]),
                sent.request.tell_media ? 1 : 0);
      expected += 1;
    }
    EXPECT_EQ(expected, arrivals.size());
  }
}

TEST(DramChannel, TwoReadsOfOneLineInFlightAreBothDone) {
  Channel channel(without_refresh(), 0);
  ASSERT_TRUE(channel.try_send(request(Op::read, 5, 1), Tick(0)).accepted);
  ASSERT_TRUE(channel.try_send(request(Op::read, 5, 2), Tick(0)).accepted);
  const Sink sink = run(channel);
  ASSERT_EQ(sink.size(), 2u);
  EXPECT_EQ(std::set({sink[0].id, sink[1].id}), (std::set<std::uint64_t>{1, 2}));
}

TEST(DramChannel, AWriteIsDoneWhenItIsAccepted) {
  Channel channel(without_refresh(), 0);
  ASSERT_TRUE(channel.try_send(request(Op::write, 5, 9), Tick(1234)).accepted);
  EXPECT_EQ(channel.next_event(), Tick(1234));
  Sink sink;
  channel.advance(Tick(1234), sink);
  ASSERT_EQ(sink.size(), 1u);
  EXPECT_EQ(sink[0].time, Tick(1234));
  EXPECT_EQ(sink[0].id, 9u);
}

TEST(DramChannel, MergedWritesBecomeOneBurstAndAreReportedApart) {
  const Config config = without_refresh();
  Recorder recorder;
  Channel channel(config, 0, &recorder);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    Request write = request(Op::write, 5, id);
    write.tell_media = id != 2;
    ASSERT_TRUE(channel.try_send(write, Tick(0)).accepted);
  }
  std::map<Completion::Kind, std::multiset<std::uint64_t>> told;
  for (const Completion& completion : run(channel)) told[completion.kind].insert(completion.id);
  EXPECT_EQ(told[Completion::Kind::done], (std::multiset<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(told[Completion::Kind::media], (std::multiset<std::uint64_t>{1, 3}));
  EXPECT_EQ(count(recorder.commands, Command::wr), 1u);
}

TEST(DramChannel, AWriteReachesTheMediaAtTheEndOfItsBurst) {
  const Config config = without_refresh();
  const Timing& t = config.timing;
  std::vector<Arrival> arrivals = {arrival(Tick(0), Op::write, 5)};
  arrivals[0].request.tell_media = true;
  const Completion last = drive(config, Mode::next_event, arrivals).completions.back();
  EXPECT_EQ(last.kind, Completion::Kind::media);
  EXPECT_EQ(last.time, config.clock * (1 + t.rcd + t.cwl + t.burst));
}

TEST(DramChannel, AReadOfAQueuedWriteIsForwardedAtTheNextEdge) {
  const Config config = without_refresh();
  const Outcome outcome =
      drive(config, Mode::next_event,
            {arrival(Tick(0), Op::write, 5, 1), arrival(Tick(10), Op::read, 5, 2)});
  EXPECT_EQ(outcome.completions.back().id, 2u);
  EXPECT_EQ(outcome.completions.back().time, config.clock);
  EXPECT_EQ(count(outcome.commands, Command::rd), 0u);
}

TEST(DramChannel, AWriteDoesNotOvertakeAnEarlierReadOfItsLine) {
  Config config = without_refresh();
  config.write_queue = 4;
  config.write_high = 2;
  config.write_low = 0;
  // The drain starts at once and row 0 is open for the writes, yet the read comes first.
  const auto commands =
      drive(config, Mode::next_event,
            {arrival(Tick(0), Op::read, 5, 1), arrival(Tick(0), Op::read, 5, 2),
             arrival(Tick(1), Op::write, 5, 3), arrival(Tick(1), Op::write, 9, 4)})
          .commands;
  std::vector<std::string> columns;
  for (const CommandRecord& command : commands) {
    if (command.command == Command::rd || command.command == Command::wr) {
      columns.push_back(std::string(name(command.command)) + std::to_string(command.column));
    }
  }
  const auto place = [&](const std::string& what) {
    return std::find(columns.rbegin(), columns.rend(), what).base() - columns.begin();
  };
  EXPECT_EQ(columns.size(), 4u);
  EXPECT_LT(place("RD8"), place("WR8"));
}

TEST(DramChannel, AnAddressBeyondTheMemoryIsAnInputError) {
  const Config config = ddr4_2666();
  Channel channel(config, 0);
  EXPECT_THROW(static_cast<void>(
                   channel.try_send(request(Op::read, config.capacity() / line_bytes), Tick(0))),
               InputError);
}

// ---- Models.

Settings ddr4_settings() {
  Settings settings;
  const std::pair<const char*, const char*> values[] = {
      {"standard", "DDR4"},
      {"clock_ps", "750"},
      {"density_gbit", "8"},
      {"width", "8"},
      {"ranks", "2"},
      {"bank_groups", "4"},
      {"banks", "4"},
      {"rows", "65536"},
      {"columns", "1024"},
      {"burst_length", "8"},
      {"timing.cl", "19"},
      {"timing.cwl", "18"},
      {"timing.rcd", "19"},
      {"timing.rp", "19"},
      {"timing.ras", "43"},
      {"timing.rc", "62"},
      {"timing.ccd_s", "4"},
      {"timing.ccd_l", "7"},
      {"timing.rrd_s", "4"},
      {"timing.rrd_l", "7"},
      {"timing.faw", "28"},
      {"timing.wtr_s", "4"},
      {"timing.wtr_l", "10"},
      {"timing.wr", "20"},
      {"timing.rtp", "10"},
      {"timing.rfc", "467"},
      {"timing.refi", "10400"},
      {"timing.xp", "8"},
      {"timing.cke", "7"},
      {"timing.ckesr", "8"},
      {"timing.xs", "480"},
      {"timing.rtrs", "2"},
      {"queue.read", "32"},
      {"queue.write", "32"},
      {"queue.write_high", "24"},
      {"queue.write_low", "8"},
      {"page", "closed"},
      {"refresh.enabled", "true"},
      {"refresh.postpone", "4"},
      {"powerdown.idle", "0"},
      {"selfrefresh.idle", "0"},
      {"mapping", "row-rank-bank-column-bank_group"}};
  for (const auto& [key, value] : values) settings.set(std::string("dram.") + key, value);
  return settings;
}

TEST(DramConfig, ADramConfigComesFromAModelsKeys) {
  const Config config = config_from(ddr4_settings(), "dram.");
  EXPECT_EQ(config.ranks, 2u);
  EXPECT_EQ(config.timing.rfc, 467u);
  EXPECT_EQ(config.timing.dllk, 1024u);
  EXPECT_EQ(config.page, PagePolicy::closed);
  EXPECT_EQ(config.write_low, 8u);
  EXPECT_EQ(config.capacity(), Bytes{16} << 30);
}

TEST(DramConfig, ADramConfigNamesTheKeyOfAnImpossibleValue) {
  const std::pair<const char*, const char*> wrong[] = {
      {"standard", "DDR3"},
      {"clock_ps", "0"},
      {"ranks", "5"},
      {"bank_groups", "3"},
      {"banks", "8"},
      {"rows", "0"},
      {"columns", "100"},
      {"burst_length", "4"},
      {"timing.rc", "61"},
      {"timing.cl", "0"},
      {"timing.ccd_l", "3"},
      {"timing.refi", "500"},
      {"queue.read", "0"},
      {"queue.write_high", "33"},
      {"queue.write_low", "24"},
      {"page", "ajar"},
      {"refresh.postpone", "9"},
      {"mapping", "row-rank-bank-column"},
      {"mapping", "row-rank-bank-column-bank_group-row"},
      {"mapping", "row-rank-bank-col-bank_group"}};
  for (const auto& [key, value] : wrong) {
    Settings settings = ddr4_settings();
    settings.set(std::string("dram.") + key, value);
    try {
      static_cast<void>(config_from(settings, "dram."));
      ADD_FAILURE() << key << " = " << value << " was taken";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string("dram.") + key), std::string::npos)
          << error.what();
    }
  }
}

// ---- Full queues.

Config tiny_queues() {
  Config config = without_refresh();
  config.read_queue = config.write_queue = config.write_high = 1;
  config.write_low = 0;
  return config;
}

/// Distinct lines in distinct rows of one bank: each waits for the one before.
std::uint64_t slow_line(const Config& config, std::uint32_t n) {
  return AddressMapping(config, "").address({n, 0, 0}, 0).block(line_bytes);
}

TEST(DramPorts, RefusedPortsArePutOffToTheNextEdgeAndWokenInOrderOfArrival) {
  const Config config = tiny_queues();
  Channel channel(config, 0);
  ASSERT_TRUE(channel.try_send(request(Op::read, slow_line(config, 0), 0, 0), Tick(0)).accepted);
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{7, 3, 5}) {
    const Accept answer =
        channel.try_send(request(Op::read, slow_line(config, port), port, port), Tick(100));
    EXPECT_FALSE(answer.accepted);
    EXPECT_EQ(answer.retry_at, config.clock);
  }
  std::vector<std::uint64_t> woken;
  Sink sink;
  while (woken.size() < 3) {
    const Tick now = channel.next_event();
    ASSERT_FALSE(now.is_never());
    sink.clear();
    channel.advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind != Completion::Kind::wake) continue;
      woken.push_back(completion.id);
      const auto port = static_cast<std::uint16_t>(completion.id);
      // A stranger does not get the slot that is held for the woken port.
      EXPECT_FALSE(
          channel.try_send(request(Op::read, slow_line(config, 90), 90, 90), now).accepted);
      EXPECT_TRUE(
          channel.try_send(request(Op::read, slow_line(config, port), port, port), now).accepted);
    }
  }
  EXPECT_EQ(woken, (std::vector<std::uint64_t>{7, 3, 5}));
}

TEST(DramPorts, AHeldSlotPassesOnWhenItsPortDoesNotCome) {
  const Config config = tiny_queues();
  Channel channel(config, 0);
  ASSERT_TRUE(channel.try_send(request(Op::read, slow_line(config, 0), 0, 0), Tick(0)).accepted);
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2}) {
    EXPECT_FALSE(
        channel.try_send(request(Op::read, slow_line(config, port), port, port), Tick(0)).accepted);
  }
  std::vector<Completion> wakes;
  Sink sink;
  while (wakes.size() < 2) {
    const Tick now = channel.next_event();
    ASSERT_FALSE(now.is_never());
    sink.clear();
    channel.advance(now, sink);
    for (const Completion& completion : sink) {
      if (completion.kind == Completion::Kind::wake) wakes.push_back(completion);
    }
  }
  EXPECT_EQ(wakes[0].id, 1u);
  EXPECT_EQ(wakes[1].id, 2u);
  EXPECT_EQ(wakes[1].time - wakes[0].time, config.clock * Channel::hold);
  // No port comes at all: after the second hold any port may take the slot.
  const Tick later = wakes[1].time + config.clock * Channel::hold;
  EXPECT_FALSE(
      channel.try_send(request(Op::read, slow_line(config, 9), 9, 9), later - config.clock * 2)
          .accepted);
  EXPECT_TRUE(channel.try_send(request(Op::read, slow_line(config, 9), 9, 9), later).accepted);
}

TEST(DramPorts, AHeldSlotPassesOnWhenItsPortDoesNotNeedIt) {
  const Config config = tiny_queues();
  Channel channel(config, 0);
  ASSERT_TRUE(channel.try_send(request(Op::read, slow_line(config, 0), 0, 0), Tick(0)).accepted);
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2}) {
    EXPECT_FALSE(
        channel.try_send(request(Op::read, slow_line(config, port), port, port), Tick(0)).accepted);
  }
  Sink sink;
  while (sink.empty()) channel.advance(channel.next_event(), sink);
  ASSERT_EQ(sink[0].kind, Completion::Kind::wake);
  ASSERT_EQ(sink[0].id, 1u);
  // The port reads a line that waits in the write queue instead: it gets that at once.
  const Tick now = sink[0].time;
  ASSERT_TRUE(channel.try_send(request(Op::write, slow_line(config, 9), 8, 8), now).accepted);
  ASSERT_TRUE(channel.try_send(request(Op::read, slow_line(config, 9), 9, 1), now).accepted);
  sink.clear();
  channel.advance(now, sink);
  const auto woken = std::find_if(sink.begin(), sink.end(), [](const Completion& completion) {
    return completion.kind == Completion::Kind::wake;
  });
  ASSERT_NE(woken, sink.end());
  EXPECT_EQ(woken->id, 2u);
}

// ---- Fairness.

constexpr Cycle never_served = 1'000'000'000;

/// Latency in cycles of request 0 among `others`, which keep coming.
Cycle latency_among(const Config& config, Arrival one, std::vector<Arrival> others,
                    Completion::Kind kind = Completion::Kind::done) {
  one.request.port = 1;  // so that it does not wait behind refused ones
  others.push_back(one);
  std::stable_sort(others.begin(), others.end(),
                   [](const Arrival& a, const Arrival& b) { return a.time < b.time; });
  for (const Completion& completion : drive(config, Mode::next_event, others).completions) {
    if (completion.id == 0 && completion.kind == kind) {
      return (completion.time - one.time) / config.clock;
    }
  }
  return never_served;
}

TEST(DramFairness, AConflictIsServedAmongRowHitsThatNeverEnd) {
  const Config config = without_refresh();
  const AddressMapping mapping(config, "");
  std::vector<Arrival> hits;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const Address address = mapping.address({0, 0, 0}, static_cast<std::uint32_t>(i % 128 * 8));
    // Two are always queued: the bank never runs out of hits.
    hits.push_back(arrival(config.clock * (i * 6), Op::read, address.block(line_bytes), 100 + i));
  }
  const Address conflict = mapping.address({1, 0, 0}, 0);
  EXPECT_LT(
      latency_among(config, arrival(Tick(100'000), Op::read, conflict.block(line_bytes)), hits),
      1000u);
}

TEST(DramFairness, ARankIsServedAmongItsSiblingsRowHits) {
  Config config = without_refresh();
  config.ranks = 2;
  const AddressMapping mapping(config, "");
  std::vector<Arrival> hits;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto bank = static_cast<std::uint16_t>(i % 4 * 4);
    const Address address =
        mapping.address({0, bank, 0}, static_cast<std::uint32_t>(i / 4 % 128 * 8));
    hits.push_back(
        arrival(config.clock * (i * 4 - i / 50), Op::read, address.block(line_bytes), 100 + i));
  }
  const Address other = mapping.address({0, 16, 1}, 0);
  EXPECT_LT(latency_among(config, arrival(Tick(100'000), Op::read, other.block(line_bytes)), hits),
            1000u);
}

TEST(DramFairness, AReadIsServedAmongWritesThatNeverEnd) {
  const Config config = without_refresh();
  std::vector<Arrival> writes;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    writes.push_back(arrival(config.clock * (2 * i), Op::write, 1000 + i, 100 + i));
  }
  EXPECT_LT(latency_among(config, arrival(Tick(500'000), Op::read, 5), writes), 600u);
}

TEST(DramFairness, AWriteIsServedAmongReadsThatNeverEnd) {
  const Config config = without_refresh();
  std::vector<Arrival> reads;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    reads.push_back(arrival(config.clock * (3 * i), Op::read, 1000 + i, 100 + i));
  }
  Arrival write = arrival(Tick(100'000), Op::write, 5);
  write.request.tell_media = true;
  // It lets 512 reads pass, at four cycles each.
  EXPECT_LT(latency_among(config, write, reads, Completion::Kind::media), 512u * 4 + 400);
}

}  // namespace test_file
}  // namespace nearfar::sim::dram::testing

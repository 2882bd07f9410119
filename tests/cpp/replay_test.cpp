// When the accesses of a trace enter the memory, what is measured, and that the device is
// held to account for every request. The device is a mock with one latency and a number
// of slots, so every expected time is arithmetic.

#include "sim/machine/replay.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "mock_device.h"

namespace nearfar::sim {
namespace test_file {

using Fault = MockDevice::Fault;

constexpr Tick cycle{1'000};

ReplayResult play(Device& device, std::string_view text, Replay::Options options) {
  options.clock = cycle;
  Replay replay(device, trace::make_reader("t", "auto"), options);
  replay.feed(text);
  return replay.finish();
}

ReplayResult play_paced(Device& device, std::string_view text) {
  return play(device, text, {.pace = Pace::trace});
}

std::vector<std::uint64_t> entry_cycles(const MockDevice& device) {
  std::vector<std::uint64_t> cycles;
  for (const auto& entry : device.entries()) cycles.push_back(entry.time / cycle);
  return cycles;
}

std::string complaint(std::string_view text) {
  MockDevice device({.capacity = 4096});
  try {
    static_cast<void>(play_paced(device, text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string random_reads(std::uint64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    text += (rng.below(3) == 0 ? "ST " : "LD ") + std::to_string(rng.below(1 << 20)) + "\n";
  }
  return text;
}

TEST(ReplayPaced, AccessesEnterAtTheirCycle) {
  MockDevice device;
  const auto result = play_paced(device, "0x40 READ 10\n0x80 WRITE 10\n0xc0 READ 500\n");
  EXPECT_EQ(device.entries(),
            (std::vector<MockDevice::Entry>{{10 * cycle, Address(0x40), Op::read, 0},
                                            {10 * cycle, Address(0x80), Op::write, 1},
                                            {500 * cycle, Address(0xc0), Op::read, 0}}));
  EXPECT_EQ(result.requests, 3u);
  EXPECT_EQ(result.reads, 2u);
  EXPECT_EQ(result.writes, 1u);
  EXPECT_EQ(result.late.value().requests, 0u);
  EXPECT_EQ(result.elapsed, 490 * cycle + Tick(100'000));
}

TEST(ReplayPaced, TheClockIsTheCallersChoice) {
  MockDevice device;
  Replay replay(device, trace::make_reader("t", "auto"), {.clock = Tick(750)});
  replay.feed("0x40 READ 7\n");
  static_cast<void>(replay.finish());
  EXPECT_EQ(device.entries()[0].time, Tick(7 * 750));
}

TEST(ReplayPaced, WithoutTimesOneAccessEntersACycle) {
  MockDevice device;
  play_paced(device, "LD 0\nST 64\nLD 128\n");
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(ReplayPaced, BubblesAreHonoured) {
  MockDevice device;
  play_paced(device, "3 0 64\n2 128\n");
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{3, 4, 7}));
}

TEST(ReplayPaced, IdleCyclesAreHonouredAndACriticalReadIsAwaited) {
  MockDevice device({.latency = 100 * cycle});
  const auto result = play_paced(device, "0x0 R:4\n0x40 C\n0x80 C:200\n0xc0 R\n");
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{0, 5, 105, 306}));
  EXPECT_EQ(result.late.value().requests, 0u)
      << "what waits for a critical read is not due before it";
}

TEST(ReplayPaced, LateAccessesWaitInOrderAndAreCounted) {
  MockDevice device({.latency = 100 * cycle, .slots = 1});
  const auto result =
      play_paced(device, "0x0 READ 0\n0x40 WRITE 10\n0x80 READ 20\n0xc0 READ 400\n");
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{0, 100, 200, 400}));
  EXPECT_EQ(device.entries()[1].address, Address(0x40));
  EXPECT_EQ(result.late.value().requests, 2u);
  EXPECT_EQ(result.late->longest, 180 * cycle);
  EXPECT_EQ(result.read_latency.value().max, 100 * cycle)
      << "waiting at the door is not memory latency";
}

TEST(ReplayPaced, AnEarlierCycleThanTheLineBeforeMeansLate) {
  MockDevice device;
  const auto result = play_paced(device, "0x0 READ 9\n0x40 READ 5\n");
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{9, 9}));
  EXPECT_EQ(result.late.value().requests, 1u);
  EXPECT_EQ(result.late->longest, 4 * cycle);
}

TEST(ReplayPaced, GapsCountFromTheEntryOfTheAccessBefore) {
  MockDevice device({.latency = 100 * cycle, .slots = 1});
  const auto result = play_paced(device, "0x0 R\n0x40 R:9\n0x80 R\n");
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{0, 100, 200}));
  EXPECT_EQ(result.late.value().longest, 99 * cycle);
}

TEST(ReplayPaced, OutstandingLimitsThisPaceToo) {
  MockDevice device({.latency = 100 * cycle});
  play(device, "LD 0\nLD 64\nLD 128\n", {.pace = Pace::trace, .outstanding = 2});
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{0, 1, 100}));
}

TEST(ReplayPaced, IdleTimeCostsNothing) {
  MockDevice device;
  play_paced(device, "0x0 READ 0\n0x40 READ 1000000000\n");  // one second
  EXPECT_LE(device.advances(), 4u);
}

TEST(ReplayAsap, AReplayKeepsAsManyInFlightAsAllowed) {
  MockDevice device({.latency = 100 * cycle});
  const auto result = play(device, random_reads(640, 1), {.pace = Pace::asap, .outstanding = 64});
  EXPECT_EQ(device.most_in_use(), 64u);
  EXPECT_EQ(result.elapsed, 10 * 100 * cycle);  // Little: 640 requests, 64 at a time
  EXPECT_FALSE(result.late) << "nothing is due at a cycle";
}

TEST(ReplayAsap, AReplayWithOneOutstandingRequestIsADependentChain) {
  MockDevice device({.latency = 100 * cycle});
  const auto result = play(device, random_reads(50, 1), {.pace = Pace::asap, .outstanding = 1});
  EXPECT_EQ(device.most_in_use(), 1u);
  EXPECT_EQ(result.elapsed, 50 * 100 * cycle);
}

TEST(ReplayAsap, WithoutALimitTheDeviceIsTheLimit) {
  MockDevice device({.latency = 100 * cycle, .slots = 7});
  const auto result = play(device, random_reads(70, 1), {.pace = Pace::asap});
  EXPECT_EQ(device.most_in_use(), 7u);
  EXPECT_EQ(result.elapsed, 10 * 100 * cycle);
}

TEST(ReplayAsap, TimesAreIgnoredAndDependencesKept) {
  MockDevice device({.latency = 100 * cycle});
  play(device, "0x0 R:1000\n0x40 C:1000\n0x80 R\n", {.pace = Pace::asap, .outstanding = 8});
  EXPECT_EQ(entry_cycles(device), (std::vector<std::uint64_t>{0, 0, 100}));
}

TEST(Replay, ARefusedRequestWaitsForItsWake) {
  MockDevice device({.latency = 100 * cycle, .slots = 4});
  play(device, random_reads(1000, 2), {.pace = Pace::asap});
  EXPECT_FALSE(device.asked_unwoken());
  EXPECT_EQ(device.offers(), 1000u + 249u) << "four at a time, and one refusal between";
}

/// The mock, with another port on it that sends one line as soon as it is woken.
class SharedDevice : public MockDevice {
 public:
  static constexpr std::uint16_t other_port = 9;
  static constexpr Address other_address{0x9000};

  using MockDevice::MockDevice;

  bool other_sends(Tick now) {
    return MockDevice::try_send({.id = 0, .address = other_address, .port = other_port}, now)
        .accepted;
  }

  void advance(Tick until, Sink& sink) override {
    Sink all;
    MockDevice::advance(until, all);
    for (const Completion& completion : all) {
      if (completion.kind == Completion::Kind::wake && completion.id == other_port) {
        EXPECT_TRUE(other_sends(until));
      }
      if (completion.address != other_address) sink.push_back(completion);
    }
  }
};

TEST(Replay, RefusedPortsGoInTheOrderTheyAreWoken) {
  SharedDevice device({.latency = 100 * cycle, .slots = 1});
  Requester requester(device, {.port = 0});
  requester.send(Address(0), Op::read);
  ASSERT_FALSE(device.other_sends(Tick{}));
  requester.send(Address(64), Op::read);
  requester.drain();
  EXPECT_EQ(device.entries(),
            (std::vector<MockDevice::Entry>{{Tick{}, Address(0), Op::read, 0},
                                            {100 * cycle, SharedDevice::other_address, Op::read, 9},
                                            {200 * cycle, Address(64), Op::read, 0}}));
  EXPECT_FALSE(device.asked_unwoken());
}

TEST(Replay, TimeNeverGoesBack) {
  MockDevice device({.latency = 37 * cycle, .slots = 3});
  play(device, "0x0 C\n0x40 R:7\n0x80 W\n0xc0 C:90\n0x100 R\n0x140 W\n", {.outstanding = 2});
  EXPECT_FALSE(device.time_went_back());
}

TEST(Replay, AnAccessEntersAsTheLinesItTouches) {
  MockDevice device;
  const auto result = play_paced(device, "LD 0x7f 2\nST 0x100 64\nLD 0x13f 130\nLD 0x85\n");
  std::vector<std::uint64_t> lines;
  for (const auto& entry : device.entries()) lines.push_back(entry.address.value());
  EXPECT_EQ(lines,
            (std::vector<std::uint64_t>{0x40, 0x80, 0x100, 0x100, 0x140, 0x180, 0x1c0, 0x80}));
  EXPECT_EQ(result.requests, 8u);
}

TEST(Replay, AnAddressBeyondMemoryIsToldWithItsLine) {
  EXPECT_EQ(complaint("LD 0xfff\nLD 0x1000\n"),
            "t:2: found address 0x1000, expected one below 0x1000, the memory's capacity, "
            "or --frames first-touch or fold");
  EXPECT_EQ(
      complaint("LD 0xffe 2\nLD 0xffe 3\n"),
      "t:2: found 3 bytes at address 0xffe, expected one below 0x1000, the memory's capacity, "
      "or --frames first-touch or fold");
  EXPECT_EQ(complaint("LD 0xffffffffffffffff\n"),
            "t:1: found address 0xffffffffffffffff, expected one below 0x1000, the memory's "
            "capacity, or --frames first-touch or fold");
}

TEST(Replay, ATimeBeyondTheClockIsToldWithItsLine) {
  EXPECT_EQ(complaint("0x0 READ 1\n0x40 READ 18446744073709551615\n"),
            "t:2: found a time 18446744073709551615 cycles of 1000 ps away, expected the trace to "
            "end within 106 days");
  const std::string far = "0x0 R:9000000000000000\n";  // 104 days, twice
  EXPECT_NE(complaint(far + far + "0x0 R\n"), "");
  EXPECT_NE(complaint("0x0 READ 18446744073709552\n"), "") << "a product that wraps to 384 ps";
}

TEST(Replay, TheFirstBadLineIsToldHoweverTheTraceIsCut) {
  const std::string text = "LD 0x40\nLD 0x1000\nnonsense\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    MockDevice device({.capacity = 4096});
    Replay replay(device, trace::make_reader("t", "auto"), {.clock = cycle});
    try {
      replay.feed(std::string_view(text).substr(0, cut));
      replay.feed(std::string_view(text).substr(cut));
      FAIL() << "cut at " << cut;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 4), "t:2:") << "cut at " << cut;
    }
  }
}

TEST(Replay, AClockOfNoLengthIsAnInputError) {
  MockDevice device;
  EXPECT_THROW(Replay(device, trace::make_reader("t", "auto"), {}), InputError);
}

TEST(Replay, AReplayMeasuresTheSameHoweverTheTraceIsCut) {
  const std::string text = random_reads(500, 3);
  const auto outcome = [&](std::size_t piece) {
    MockDevice device({.latency = 90 * cycle, .slots = 5});
    Replay replay(device, trace::make_reader("t", "auto"), {.outstanding = 4, .clock = cycle});
    for (std::size_t at = 0; at < text.size(); at += piece) {
      replay.feed(std::string_view(text).substr(at, piece));
    }
    const auto result = replay.finish();
    return std::tuple(device.entries(), result.elapsed, result.read_latency->p99,
                      result.late->requests, result.late->longest);
  };
  const auto whole = outcome(text.size());
  for (const std::size_t piece : {1, 2, 7, 64, 1000}) EXPECT_EQ(outcome(piece), whole);
}

TEST(Replay, TheLastLineNeedsNoNewline) {
  MockDevice device;
  EXPECT_EQ(play_paced(device, "LD 0\nLD 64").requests, 2u);
}

TEST(Replay, ReadLatencyPercentilesAreThoseOfTheirName) {
  // Of 1,000 reads 1 takes 4 us, 3 take 3 us, 16 take 2 us, the others 1 us.
  MockDevice device({.latency_of = [](std::uint64_t n) {
    return Tick(n == 0 ? 4'000'000 : n < 4 ? 3'000'000 : n < 20 ? 2'000'000 : 1'000'000);
  }});
  const auto result = play_paced(device, [] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "LD 0\n";
    return text;
  }());
  EXPECT_NEAR(result.read_latency.value().p50.ns(), 1'000, 1'000 / 128);
  EXPECT_NEAR(result.read_latency->p99.ns(), 2'000, 2'000 / 128);
  EXPECT_NEAR(result.read_latency->p999.ns(), 3'000, 3'000 / 128);
  EXPECT_EQ(result.read_latency->max, Tick(4'000'000));
}

TEST(Replay, ReadLatencyPercentilesComeFromReadsAlone) {
  // Slot waits are not in the latency, so all reads take the same time here.
  MockDevice device({.latency = Tick(123'456)});
  const auto result = play_paced(device, random_reads(100, 4));
  EXPECT_EQ(result.read_latency.value().p50, Tick(123'456));
  EXPECT_EQ(result.read_latency->p999, Tick(123'456));
  EXPECT_EQ(result.read_latency->max, Tick(123'456));

  MockDevice writes_only;
  EXPECT_FALSE(play_paced(writes_only, "ST 0\n").read_latency);
}

TEST(Replay, BandwidthIsDecimalGigabytesASecond) {
  MockDevice device({.latency = Tick(64'000)});
  const auto result = play(device, random_reads(100, 5), {.pace = Pace::asap, .outstanding = 1});
  EXPECT_DOUBLE_EQ(result.gb_per_s().value(), 1.0);  // 64 bytes every 64 ns
}

TEST(Replay, CountersAreTheDevices) {
  MockDevice device;
  const auto result = play_paced(device, "LD 0\nLD 64\n");
  ASSERT_EQ(result.counters.size(), 1u);
  EXPECT_EQ(result.counters[0].name, "mock.offers");
  EXPECT_EQ(result.counters[0].value, 2u);
}

/// A memory that has accepted a write holds it for a while.
class QueueingDevice : public MockDevice {
 public:
  using MockDevice::MockDevice;
  Accept try_send(const Request& request, Tick now) override {
    Request followed = request;
    followed.tell_media = request.op == Op::write;
    return MockDevice::try_send(followed, now);
  }
  void advance(Tick until, Sink& sink) override {
    Sink all;
    MockDevice::advance(until, all);
    for (const Completion& completion : all) {
      if (completion.kind != Completion::Kind::media) sink.push_back(completion);
    }
  }
};

TEST(Replay, AReplayWithDrainEndsWhenTheLastWriteHasLeftTheQueues) {
  const MockDevice::Config config{.latency = cycle, .media_latency = 500 * cycle};
  QueueingDevice device(config);
  const auto drained = play(device, "ST 0\nST 64\n", {.pace = Pace::trace, .drain = true});
  EXPECT_EQ(drained.elapsed, 501 * cycle);
  QueueingDevice other(config);
  EXPECT_EQ(play_paced(other, "ST 0\nST 64\n").elapsed, 2 * cycle) << "both were accepted";
  QueueingDevice readable(config);
  EXPECT_EQ(play(readable, "LD 0\n", {.pace = Pace::trace, .drain = true}).elapsed, cycle);
}

TEST(Replay, AReplayThatTakesNoTimeHasNoBandwidth) {
  MockDevice device({.latency = Tick{}});
  EXPECT_FALSE(play_paced(device, "ST 0\n").gb_per_s());
}

TEST(ReplayFrames, FirstTouchTakesPagesBeyondMemoryAsTheyCome) {
  MockDevice device({.capacity = 8192});
  play(device, "LD 0xffff00001040\nLD 0x40\nLD 0xffff00001080\n",
       {.pace = Pace::trace, .frames = Frames::first_touch});
  ASSERT_EQ(device.entries().size(), 3u);
  EXPECT_EQ(device.entries()[0].address, Address(0x40));
  EXPECT_EQ(device.entries()[1].address, Address(0x1040));
  EXPECT_EQ(device.entries()[2].address, Address(0x80));
}

TEST(ReplayFrames, FoldDropsWholeMemorySizesFromAnAddress) {
  MockDevice device({.capacity = 8192});
  play(device, "LD 0xffff00003040\nLD 0x1fc0 65\n", {.pace = Pace::trace, .frames = Frames::fold});
  ASSERT_EQ(device.entries().size(), 3u);
  EXPECT_EQ(device.entries()[0].address, Address(0x1040));
  EXPECT_EQ(device.entries()[2].address, Address(0)) << "the line behind the last is the first";
}

TEST(Replay, AReplayFollowsWritesToTheMediaWhenAsked) {
  MockDevice device;
  const auto result =
      play(device, "ST 0\nLD 64\nST 128\n", {.pace = Pace::trace, .tell_media = true});
  EXPECT_EQ(result.media_writes, 2u);
  EXPECT_EQ(result.elapsed, 2 * cycle + Tick(100'000)) << "a write is done when it is accepted";
  EXPECT_TRUE(device.idle());

  MockDevice not_asked;
  EXPECT_EQ(play_paced(not_asked, "ST 0\n").media_writes, 0u);
}

TEST(Replay, AWriteIsFollowedAlsoWhenItsSuccessorsAreDone) {
  MockDevice device({.latency = 100 * cycle, .media_latency = 450 * cycle});
  const auto result = play(device, "ST 0\nLD 64\nST 128\nLD 192\n",
                           {.pace = Pace::asap, .outstanding = 1, .tell_media = true});
  EXPECT_EQ(result.media_writes, 2u);
  EXPECT_EQ(result.elapsed, 400 * cycle);
}

TEST(Replay, TheLastCompletionHasItsOwnTimeHoweverLateItIsCollected) {
  MockDevice device({.latency = 100 * cycle});
  Requester requester(device, {});
  requester.send(Address(0), Op::read);
  requester.advance_to(1000 * cycle);
  EXPECT_EQ(requester.totals().last_done, 100 * cycle);
  EXPECT_EQ(requester.now(), 1000 * cycle);
}

TEST(Replay, FinishingLeavesNothingInFlight) {
  MockDevice device({.slots = 9});
  const auto result = play(device, random_reads(333, 6), {.pace = Pace::asap});
  EXPECT_TRUE(device.idle());
  EXPECT_EQ(result.requests, 333u);
  EXPECT_EQ(device.entries().size(), 333u);
}

/// A way a device can lose track of a request, and what it is then told.
struct Broken {
  Fault fault;
  std::string complaint;
};

class ReplayAccounting : public ::testing::TestWithParam<Broken> {};

TEST_P(ReplayAccounting, ABrokenDeviceIsReported) {
  for (const std::uint64_t healthy : {0, 1, 50, 99}) {
    MockDevice device({.slots = 8});
    device.misbehave(GetParam().fault, healthy);
    try {
      play(device, random_reads(100, 7), {.pace = Pace::asap});
      FAIL() << "after " << healthy << " healthy requests";
    } catch (const std::logic_error& error) {
      EXPECT_EQ(std::string_view(error.what()).substr(0, GetParam().complaint.size()),
                GetParam().complaint);
    }
  }
}

std::string fault_name(const ::testing::TestParamInfo<Broken>& info) {
  constexpr const char* names[] = {"None",    "Lost",  "Twice",     "OtherAddress",
                                   "OtherId", "Early", "NeverWoken"};
  return names[static_cast<std::size_t>(info.param.fault)];
}

INSTANTIATE_TEST_SUITE_P(
    Faults, ReplayAccounting,
    ::testing::Values(Broken{Fault::lose, "the memory has nothing left to do"},
                      Broken{Fault::never_wake, "the memory has nothing left to do"},
                      Broken{Fault::twice, "a completion that no request waits for"},
                      Broken{Fault::other_id, "a completion that no request waits for"},
                      Broken{Fault::other_address, "a completion with another request's address"},
                      Broken{Fault::early, "a completion from the future"}),
    fault_name);

}  // namespace test_file
}  // namespace nearfar::sim

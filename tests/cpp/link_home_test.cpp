#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "machine_fixture.h"
#include "mock_device.h"
#include "sim/link/link.h"
#include "sim/machine/machine.h"

/// The home agent of another socket's memory, which keeps with each line whether it is away.
namespace nearfar::sim::link {
namespace test_file {

using namespace literals;

Config other_socket() {
  Config config;
  config.request_latency = 60_ns;
  config.response_latency = 40_ns;
  config.slot = 1_ns;
  config.read_request_slots = 1;
  config.read_response_slots = 5;
  config.write_request_slots = 5;
  config.write_response_slots = 1;
  config.read_credits = 64;
  config.write_credits = 64;
  config.write_round_trips = 1;
  config.directory = true;
  return config;
}

Request request(std::uint64_t id, Op op, std::uint64_t line) {
  return {.id = id, .address = Address(line * line_bytes), .op = op};
}

struct Bench {
  explicit Bench(const Config& config, const MockDevice::Config& mock = {.latency = 100_ns}) {
    auto device = std::make_unique<MockDevice>(mock);
    memory = device.get();
    link = std::make_unique<Link>(config, std::move(device));
  }
  /// How long a request takes that is alone.
  Tick alone(Op op, std::uint64_t line) {
    EXPECT_TRUE(link->try_send(request(1, op, line), now).accepted);
    Sink sink;
    link->advance(now + 10_us, sink);
    EXPECT_EQ(sink.size(), 1u);
    const Tick took = sink.front().time - now;
    now += 10_us;
    return took;
  }
  /// What the memory was asked for, as in "rwr".
  [[nodiscard]] std::string asked() const {
    std::string ops;
    for (const MockDevice::Entry& entry : memory->entries()) {
      ops += entry.op == Op::read ? 'r' : 'w';
    }
    return ops;
  }
  MockDevice* memory = nullptr;
  std::unique_ptr<Link> link;
  Tick now{};
};

constexpr std::uint64_t line = 3;
const Tick read_time = 1_ns + 60_ns + 100_ns + 5_ns + 40_ns;
const Tick write_time = 6_ns + 60_ns + 40_ns + 60_ns + 100_ns + 1_ns + 40_ns;

TEST(LinkHome, AFirstReadWritesTheLinesStateAndNoRequestWaitsForThat) {
  Bench bench(other_socket());
  EXPECT_EQ(bench.alone(Op::read, line), read_time);
  EXPECT_EQ(bench.asked(), "rw");
  EXPECT_EQ(bench.memory->entries().back().address, Address(line * line_bytes));
  EXPECT_EQ(bench.alone(Op::read, line), read_time);
  EXPECT_EQ(bench.asked(), "rwr") << "the memory knows already";
}

TEST(LinkHome, AReadThatChangesTheStateIsAnsweredLaterAndHoldsUpNoOther) {
  Config config = other_socket();
  config.directory_latency = 30_ns;
  Bench bench(config);
  EXPECT_EQ(bench.alone(Op::read, line), read_time + 30_ns);
  EXPECT_EQ(bench.alone(Op::read, line), read_time) << "the state is the same";
  bench.alone(Op::write, line);
  EXPECT_EQ(bench.alone(Op::read, line), read_time + 30_ns) << "it was home again";

  ASSERT_TRUE(bench.link->try_send(request(1, Op::read, line + 1), bench.now).accepted);
  ASSERT_TRUE(bench.link->try_send(request(2, Op::read, line), bench.now).accepted);
  Sink sink;
  bench.link->advance(bench.now + 10_us, sink);
  ASSERT_EQ(sink.size(), 2u);
  EXPECT_EQ(sink[0].id, 2u);
  EXPECT_EQ(sink[0].time, bench.now + read_time + 1_ns) << "sent in the second slot";
  EXPECT_EQ(sink[1].time, bench.now + read_time + 30_ns);
}

TEST(LinkHome, AWriteBringsTheLineHome) {
  Bench bench(other_socket());
  bench.alone(Op::read, line);
  EXPECT_EQ(bench.alone(Op::write, line), write_time);
  EXPECT_EQ(bench.asked(), "rww");
  bench.alone(Op::read, line);
  EXPECT_EQ(bench.asked(), "rwwrw") << "it was home again";
}

TEST(LinkHome, PagesThatHaveBeenSeenChangeNoState) {
  Config config = other_socket();
  config.seen = 0.5;
  Bench bench(config);
  constexpr std::uint64_t pages = 400;
  for (std::uint64_t page = 0; page < pages; ++page) bench.alone(Op::read, 64 * page);
  const double written = static_cast<double>(bench.asked().size() - pages);
  EXPECT_NEAR(written / pages, 0.5, 0.1);
  config.seen = 1;
  Bench all(config);
  all.alone(Op::read, line);
  EXPECT_EQ(all.asked(), "r");
}

TEST(LinkHome, APlaceInTheHomeAgentIsTakenUntilTheMemoryHasTakenTheState) {
  Config config = other_socket();
  config.read_credits = 1;
  Bench bench(config);
  ASSERT_TRUE(bench.link->try_send(request(1, Op::read, line), Tick(0)).accepted);
  ASSERT_FALSE(bench.link->try_send(request(2, Op::read, line), Tick(0)).accepted);
  Sink sink;
  bench.link->advance_to_completion(10_us, sink);
  ASSERT_EQ(sink.front().kind, Completion::Kind::done);
  sink.clear();
  EXPECT_EQ(bench.link->advance_to_completion(10_us, sink), 1_ns + 60_ns + 2 * 100_ns + 40_ns);
  EXPECT_EQ(sink.front().kind, Completion::Kind::wake);
}

class LinkHomeData : public ::testing::TestWithParam<Tick> {};

INSTANTIATE_TEST_SUITE_P(Latencies, LinkHomeData, ::testing::Values(Tick(0), 250_ns));

/// Lines of an Optane DIMM, read and written without waiting: nothing may be answered with other
/// data than the last written before it was sent, and no state that is written late may bring
/// older data back.
TEST_P(LinkHomeData, ReadsReturnTheLastDataSentBeforeThemAndNoneAreLost) {
  constexpr std::uint64_t lines = 24;
  Config config = other_socket();
  config.directory_latency = GetParam();
  Link link(config, std::make_unique<Machine>(sim::testing::quiet_optane({})));
  Rng rng(11);
  Sink sink;
  Tick now{};
  std::vector<DataHandle> last(lines, 0);
  std::map<std::uint64_t, DataHandle> expected;
  std::uint64_t taken = 0;
  for (std::uint64_t id = 0; id < 4000; ++id) {
    now += Tick(rng.below(60'000));
    link.advance(now, sink);
    Request next = request(id, rng.below(2) == 0 ? Op::write : Op::read, rng.below(lines));
    next.data = next.op == Op::write ? id + 1 : 0;
    if (!link.try_send(next, now).accepted) continue;
    ++taken;
    DataHandle& newest = last[next.address.block(line_bytes)];
    if (next.op == Op::write) newest = next.data;
    if (next.op == Op::read) expected[id] = newest;
  }
  link.advance(Tick::never(), sink);
  EXPECT_TRUE(link.idle());
  std::uint64_t done = 0;
  for (const Completion& completion : sink) {
    if (completion.kind != Completion::Kind::done) continue;
    ++done;
    const auto read = expected.find(completion.id);
    EXPECT_TRUE(read == expected.end() || completion.data == read->second) << completion.id;
  }
  EXPECT_EQ(done, taken);
  for (std::uint64_t at = 0; at < lines; ++at) {
    EXPECT_EQ(link.durable(Address(at * line_bytes)), last[at]);
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::link

// Synthetic streams: what they send, that pieces make a whole, and that driving them
// costs no allocation.

#include "sim/machine/streams.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <set>

#include "mock_device.h"

namespace {
std::uint64_t allocations = 0;  // counted for this whole program
}

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace nearfar::sim {
namespace {

constexpr Tick latency{100'000};

TEST(Streams, SequentialReadsWalkTheAreaAndStartAgain) {
  MockDevice device;
  Stream stream = Stream::sequential_read();
  stream.area = 3 * line_bytes;
  StreamDriver driver(device, stream);
  driver.run(5);
  std::vector<std::uint64_t> lines;
  for (const auto& entry : device.entries()) lines.push_back(entry.address.block(line_bytes));
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{0, 1, 2, 0, 1}));
}

TEST(Streams, RandomReadsReachEveryLineOfTheAreaAndNoOther) {
  MockDevice device;
  Stream stream = Stream::random_read();
  stream.area = 16 * line_bytes;
  StreamDriver driver(device, stream);
  driver.run(1000);
  std::set<std::uint64_t> lines;
  for (const auto& entry : device.entries()) {
    EXPECT_EQ(entry.address.value() % line_bytes, 0u);
    EXPECT_EQ(entry.op, Op::read);
    lines.insert(entry.address.block(line_bytes));
  }
  EXPECT_EQ(lines.size(), 16u);
  EXPECT_EQ(*lines.rbegin(), 15u);
}

TEST(Streams, AChaseHasOneRequestInFlight) {
  MockDevice device({.latency = latency});
  StreamDriver driver(device, Stream::dependent_chase());
  driver.run(200);
  driver.drain();
  EXPECT_EQ(device.most_in_use(), 1u);
  EXPECT_EQ(driver.elapsed(), 200 * latency);
}

TEST(Streams, AMixHasItsShareOfReads) {
  MockDevice device;
  StreamDriver driver(device, Stream::mixed());
  driver.run(10'000);
  driver.drain();
  EXPECT_EQ(driver.requests(), 10'000u);
  EXPECT_NEAR(static_cast<double>(driver.requester().totals().reads()), 7'000, 200);
}

TEST(Streams, BandwidthIsOutstandingOverLatency) {
  MockDevice device({.latency = latency});
  StreamDriver driver(device, Stream::random_read());
  driver.run(6'400);
  driver.drain();
  EXPECT_EQ(device.most_in_use(), 64u);
  EXPECT_DOUBLE_EQ(driver.gb_per_s(), 64 * 64 / latency.ns());
}

TEST(Streams, PiecesMakeTheSameStreamAsOneRun) {
  MockDevice whole_device({.slots = 11}), pieces_device({.slots = 11});
  StreamDriver whole(whole_device, Stream::mixed()), pieces(pieces_device, Stream::mixed());
  whole.run(600);
  for (int i = 0; i < 6; ++i) pieces.run(100);
  EXPECT_EQ(whole_device.entries(), pieces_device.entries());
}

TEST(Streams, SteadyStateAllocatesNothing) {
  MockDevice device({.latency = latency, .slots = 32, .note_entries = false});
  StreamDriver driver(device, Stream::mixed());
  driver.run(1'000);
  const std::uint64_t before = allocations;
  driver.run(10'000);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace nearfar::sim

// The memory that other simulators embed: it refuses what may not be, and a stream played by it
// completes as the same stream in a replay does.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "library/memory.h"
#include "library/play.h"
#include "machine_fixture.h"
#include "sim/machine/build.h"
#include "sim/machine/replay.h"
#include "trace/reader.h"

namespace nearfar::library {
namespace {

using sim::testing::optane;

/// A device that notes when each request, in the order of acceptance, was accepted and done.
class Noting final : public sim::Device {
 public:
  explicit Noting(std::unique_ptr<sim::Device> memory) : memory_(std::move(memory)) {}

  sim::Accept try_send(const sim::Request& request, Tick now) override {
    const sim::Accept answer = memory_->try_send(request, now);
    if (answer.accepted) {
      ids_.push_back(request.id);
      accepted_ps.push_back(now.ps());
      done_ps.push_back(0);
    } else {
      ++refused;
    }
    return answer;
  }
  [[nodiscard]] Tick next_event() const override { return memory_->next_event(); }
  void advance(Tick until, sim::Sink& sink) override {
    const std::size_t before = sink.size();
    memory_->advance(until, sink);
    for (std::size_t i = before; i < sink.size(); ++i) note(sink[i]);
  }
  [[nodiscard]] Bytes capacity() const override { return memory_->capacity(); }
  [[nodiscard]] bool idle() const override { return memory_->idle(); }
  [[nodiscard]] std::uint32_t queues() const override { return memory_->queues(); }
  [[nodiscard]] std::uint32_t queue_of(Address line) const override {
    return memory_->queue_of(line);
  }
  void settle(Tick now) override { memory_->settle(now); }
  void register_counters(Counters& counters) const override {
    memory_->register_counters(counters);
  }

  std::vector<std::uint64_t> accepted_ps;
  std::vector<std::uint64_t> done_ps;
  std::uint64_t refused = 0;

 private:
  void note(const sim::Completion& completion) {
    if (completion.kind != sim::Completion::Kind::done) return;
    for (std::size_t i = ids_.size(); i-- > 0;) {
      if (ids_[i] != completion.id) continue;
      done_ps[i] = completion.time.ps();
      return;
    }
  }

  std::unique_ptr<sim::Device> memory_;
  std::vector<std::uint64_t> ids_;
};

struct Stream {
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint8_t> writes;
  std::vector<std::uint64_t> times;
};

/// Random lines in bursts, which fill queues, and pauses, which empty them.
Stream random_stream(std::uint64_t seed, std::size_t count) {
  Rng rng(seed);
  Stream stream;
  std::uint64_t cycle = 0;
  for (std::size_t i = 0; i < count; ++i) {
    cycle += i % 200 == 0 ? 20'000 : rng.below(3);
    stream.addresses.push_back(rng.below(1 << 16) * line_bytes);
    stream.writes.push_back(rng.below(3) == 0 ? 1 : 0);
    stream.times.push_back(cycle * 1000);
  }
  return stream;
}

/// The same for a replay, whose cycles are of 1000 ps.
std::string dramsim3(const Stream& stream) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < stream.addresses.size(); ++i) {
    std::string hex;
    for (std::uint64_t rest = stream.addresses[i]; rest != 0; rest /= 16)
      hex.insert(hex.begin(), digits[rest % 16]);
    text += "0x" + (hex.empty() ? "0" : hex) + (stream.writes[i] != 0 ? " WRITE " : " READ ") +
            std::to_string(stream.times[i] / 1000) + "\n";
  }
  return text;
}

TEST(Library, AStreamIsAcceptedAndDoneAtTheTimesOfAReplayBitForBit) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Stream stream = random_stream(seed, 3000);
    Noting noting(sim::build(optane()));
    sim::Replay replay(noting, trace::make_reader("stream", "dramsim3", 16), {.clock = Tick(1000)});
    replay.feed(dramsim3(stream));
    const auto replayed = replay.finish();

    Memory memory(optane());
    const Played played = play(memory, {stream.addresses, stream.writes, stream.times});
    EXPECT_GT(noting.refused, 0U);
    EXPECT_EQ(played.accepted_ps, noting.accepted_ps);
    EXPECT_EQ(played.done_ps, noting.done_ps);
    const auto counters = memory.read_counters();
    ASSERT_EQ(counters.size(), replayed.counters.size());
    for (std::size_t i = 0; i < counters.size(); ++i)
      EXPECT_EQ(counters[i].value, replayed.counters[i].value) << counters[i].name;
  }
}

TEST(Library, AHostWithNothingInFlightHasNoEvent) {
  Memory memory(optane());
  EXPECT_TRUE(memory.next_event().is_never());
  memory.send({.id = 7, .address = Address()}, Tick(0));
  EXPECT_FALSE(memory.next_event().is_never());
  memory.advance_to_completion(Tick::never());
  ASSERT_EQ(memory.completions().size(), 1U);
  EXPECT_EQ(memory.completions()[0].id, 7U);
  EXPECT_EQ(memory.next_event(), memory.now());
  memory.take(1);
  EXPECT_TRUE(memory.next_event().is_never());
  const Tick before = memory.now();
  memory.advance_to_completion(Tick::never());
  EXPECT_EQ(memory.now(), before);
}

Misuse::Kind refusal_of(Memory& memory, const sim::Request& request, Tick now) {
  try {
    memory.send(request, now);
  } catch (const Misuse& misuse) {
    return misuse.kind();
  }
  ADD_FAILURE() << "the request was taken";
  return Misuse::Kind::argument;
}

TEST(Library, AMisusedMemoryGoesOnAsIfItHadNotBeenAsked) {
  const auto done_at = [](bool misused) {
    Memory memory(optane());
    memory.advance(Tick(1000));
    if (misused) {
      EXPECT_EQ(refusal_of(memory, {.address = Address(memory.capacity())}, Tick(1000)),
                Misuse::Kind::capacity);
      EXPECT_EQ(refusal_of(memory, {.address = Address(1)}, Tick(1000)), Misuse::Kind::argument);
      EXPECT_EQ(refusal_of(memory, {}, Tick(999)), Misuse::Kind::time);
      EXPECT_EQ(refusal_of(memory, {}, Memory::last + Tick(1)), Misuse::Kind::argument);
      EXPECT_THROW(memory.advance(Tick(999)), Misuse);
    }
    EXPECT_EQ(memory.unfinished(), 0U);
    memory.send({}, Tick(1000));
    memory.advance_to_completion(Tick::never());
    return memory.now();
  };
  EXPECT_EQ(done_at(true), done_at(false));
}

TEST(Library, ARefusedPortMaySendAgainOnlyAfterItsWake) {
  for (const std::uint16_t port : std::array<std::uint16_t, 4>{3, 63, 64, 900}) {
    SCOPED_TRACE(port);
    const auto other = static_cast<std::uint16_t>(port ^ 1U);
    Memory memory(optane());
    std::uint64_t line = 0;
    const auto request = [&](std::uint16_t by) {
      return sim::Request{.address = Address(line * line_bytes), .op = sim::Op::write, .port = by};
    };
    while (memory.send(request(port), Tick(0))) ++line;
    EXPECT_EQ(refusal_of(memory, request(port), Tick(0)), Misuse::Kind::not_woken);
    EXPECT_FALSE(memory.send(request(other), Tick(0)));
    const auto woken = [&] {
      bool found = false;
      for (const auto& come : memory.completions())
        found = found || (come.kind == sim::Completion::Kind::wake && come.id == port);
      memory.take(memory.completions().size());
      return found;
    };
    while (!woken()) memory.advance_to_completion(Tick::never());
    EXPECT_EQ(refusal_of(memory, request(other), memory.now()), Misuse::Kind::not_woken);
    EXPECT_TRUE(memory.send(request(port), memory.now()));
  }
}

TEST(Library, AWriteThatTellsOfTheMediaIsUnfinishedUntilItHas) {
  Memory memory(optane());
  memory.send({.id = 1, .address = Address(), .op = sim::Op::write, .tell_media = true}, Tick(0));
  std::vector<sim::Completion::Kind> kinds;
  while (memory.unfinished() != 0) {
    memory.advance_to_completion(Tick::never());
    for (const auto& come : memory.completions()) kinds.push_back(come.kind);
    memory.take(memory.completions().size());
  }
  EXPECT_EQ(kinds, (std::vector{sim::Completion::Kind::done, sim::Completion::Kind::media}));
}

}  // namespace
}  // namespace nearfar::library

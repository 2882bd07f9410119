#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine_bench.h"

/// Little's law, and what follows from it when a queue is full: how many are inside is how many
/// come through in a unit of time, times how long each stays.
///
/// How many are inside is measured from outside, without trusting a counter: the same run is
/// repeated up to some instant, and then offered requests until the queue refuses.
namespace nearfar::sim::testing {
namespace test_file {

/// Offers each arrival when it is due, none again that was refused (there must be none), and
/// stops at `until`.
struct Replayed {
  Replayed(const Overrides& overrides, const std::vector<Arrival>& arrivals, Tick until)
      : machine(quiet_optane(overrides)) {
    Sink sink;
    for (const Arrival& arrival : arrivals) {
      if (arrival.time > until) break;
      machine.advance(arrival.time, sink);
      if (!machine.try_send(arrival.request, arrival.time).accepted) ++refused;
      completions.insert(completions.end(), sink.begin(), sink.end());
      sink.clear();
    }
    machine.advance(until, sink);
    completions.insert(completions.end(), sink.begin(), sink.end());
  }

  Machine machine;
  std::vector<Completion> completions;
  std::uint64_t refused = 0;
};

/// Arrivals at random, `mean` apart on average, to lines chosen by `line_of`.
template <typename LineOf>
std::vector<Arrival> random_arrivals(std::uint64_t count, Tick mean, Op op, LineOf line_of) {
  Rng rng(11);
  std::vector<Arrival> arrivals(count);
  Tick time{};
  for (std::uint64_t i = 0; i < count; ++i) {
    // Mostly close together, then a pause: queues build up.
    time += rng.below(10) == 0 ? Tick(rng.below(12 * mean.ps())) : Tick(rng.below(mean.ps()));
    arrivals[i].time = time;
    arrivals[i].request = op == Op::read ? read_of(i, line_of(rng) * line_bytes)
                                         : write_of(i, line_of(rng) * line_bytes, 0);
  }
  return arrivals;
}

/// The mean number of requests in the queue of `op`, which has `lines` places, over `samples`
/// instants spread evenly up to `end`.
double sampled_occupancy(const Overrides& overrides, const std::vector<Arrival>& arrivals, Op op,
                         std::uint64_t lines, Tick end, std::uint64_t samples) {
  std::uint64_t inside = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    // Samples lie between the picoseconds' round numbers.
    const Tick at((2 * i + 1) * end.ps() / (2 * samples) | 1);
    Replayed run(overrides, arrivals, at);
    std::uint64_t free = 0;
    while (true) {
      const std::uint64_t far_away = (1 << 29) + free * 4096;
      const Request probe = op == Op::read ? read_of(free, far_away) : write_of(free, far_away, 0);
      if (!run.machine.try_send(probe, at).accepted) break;
      ++free;
    }
    inside += lines - free;
  }
  return static_cast<double>(inside) / static_cast<double>(samples);
}

TEST(LittlesLaw, LittlesLawHoldsForTheReadPendingQueue) {
  const Overrides overrides{{"imc.rpq.lines", "200"}};
  const auto arrivals =
      random_arrivals(3000, Tick(40'000), Op::read, [](Rng& rng) { return rng.below(1 << 20); });
  const Tick end = arrivals.back().time;
  Replayed run(overrides, arrivals, end);
  ASSERT_EQ(run.refused, 0u);
  // Time that reads have spent inside up to the end, those that still are included.
  std::uint64_t inside_ps = 0;
  std::vector<Tick> done(arrivals.size(), end);
  for (const Completion& completion : run.completions) done[completion.id] = completion.time;
  for (std::size_t i = 0; i < done.size(); ++i) inside_ps += (done[i] - arrivals[i].time).ps();
  const double expected = static_cast<double>(inside_ps) / static_cast<double>(end.ps());
  EXPECT_GT(expected, 5.0);
  EXPECT_NEAR(sampled_occupancy(overrides, arrivals, Op::read, 200, end, 200), expected,
              0.02 * expected);
}

TEST(LittlesLaw, LittlesLawHoldsForTheWritePendingQueue) {
  // With a load-store queue that always has room, the write pending queue is a line for the bus:
  // each write leaves a line's time after it could start, and it starts when it is the first.
  const Overrides overrides{{"imc.wpq.lines", "100"},
                            {"nvdimm.lsq.lines", "20000"},
                            {"nvdimm.lsq.high", "19999"},
                            {"nvdimm.lsq.hold", "4000000000000"}};
  const auto arrivals =
      random_arrivals(6000, Tick(3'300), Op::write, [](Rng& rng) { return rng.below(1 << 20); });
  const Tick end = arrivals.back().time;
  Replayed run(overrides, arrivals, end);
  ASSERT_EQ(run.refused, 0u);
  const Tick line = quiet_optane().time("nvdimm.bus.line");
  std::uint64_t inside_ps = 0;
  Tick bus_free{};
  for (const Arrival& arrival : arrivals) {
    bus_free = max(bus_free, arrival.time) + line;
    inside_ps += (min(bus_free, end) - arrival.time).ps();
  }
  const double expected = static_cast<double>(inside_ps) / static_cast<double>(end.ps());
  EXPECT_GT(expected, 1.0);
  EXPECT_NEAR(sampled_occupancy(overrides, arrivals, Op::write, 100, end, 200), expected,
              0.03 * expected);
}

/// Requests offered as fast as they are taken.
struct Saturated {
  Saturated(const Overrides& overrides, Op op, std::uint64_t count) {
    Machine machine(quiet_optane(overrides));
    std::vector<Arrival> arrivals(count);
    Rng rng(7);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t address = rng.below(1 << 20) * line_bytes;
      arrivals[i].request = op == Op::read ? read_of(i, address) : write_of(i, address, 0);
      arrivals[i].request.tell_media = op == Op::write;
    }
    const Outcome outcome = drive(machine, arrivals);
    const auto end = op == Op::read ? Completion::Kind::done : Completion::Kind::media;
    // From the middle of the run, where all is steady.
    std::uint64_t inside_ps = 0;
    std::uint64_t counted = 0;
    const Tick from = outcome.accepted[count / 4];
    const Tick to = outcome.accepted[count / 4 * 3];
    for (const Completion& completion : outcome.completions) {
      if (completion.kind != end) continue;
      const Tick entered = max(from, outcome.accepted[completion.id]);
      const Tick left = min(to, completion.time);
      if (entered < left) inside_ps += (left - entered).ps();
      if (completion.time > from && completion.time <= to) ++counted;
    }
    const auto span = static_cast<double>((to - from).ps());
    inside = static_cast<double>(inside_ps) / span;
    per_ps = static_cast<double>(counted) / span;
  }

  double inside = 0;  ///< requests, on average
  double per_ps = 0;
};

TEST(FullQueues, FullQueuesHoldAsManyReadsAsTheReadPendingQueueHasPlaces) {
  for (const std::uint64_t lines : {1u, 3u, 16u, 44u}) {
    const Saturated run({{"imc.rpq.lines", std::to_string(lines)}, {"imc.wpq.lines", "8"}},
                        Op::read, 4000);
    EXPECT_NEAR(run.inside, static_cast<double>(lines), 1e-6 * static_cast<double>(lines));
  }
}

TEST(FullQueues, FullQueuesHoldAsManyWritesAsTheTwoQueuesBeforeTheMediaHavePlaces) {
  // A line keeps its place in the load-store queue until it is on the media. On the bus it has one
  // in each of the queues.
  const auto line = static_cast<double>(quiet_optane().time("nvdimm.bus.line").ps());
  for (const std::uint64_t wpq : {1u, 8u, 20u}) {
    for (const std::uint64_t lsq : {4u, 64u}) {
      const Saturated run({{"imc.wpq.lines", std::to_string(wpq)},
                           {"nvdimm.lsq.lines", std::to_string(lsq)},
                           {"nvdimm.lsq.high", "2"}},
                          Op::write, 4000);
      EXPECT_NEAR(run.inside, static_cast<double>(wpq + lsq) - run.per_ps * line,
                  1e-3 * static_cast<double>(wpq + lsq));
    }
  }
}

}  // namespace test_file
}  // namespace nearfar::sim::testing

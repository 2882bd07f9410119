#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/rng.h"
#include "base/settings.h"
#include "optane_settings.h"
#include "sim/machine/machine.h"

/// What the tests of the Optane machine share: settings, random machines, streams of requests,
/// and a driver that keeps everything it sees.
namespace nearfar::sim::testing {

using Overrides = std::vector<std::pair<std::string, std::string>>;

inline void apply(Settings& settings, const Overrides& overrides) {
  for (const auto& [key, value] : overrides) {
    if (!settings.has(key)) throw std::logic_error("no such key: " + key);
    settings.set(key, value);
  }
}

inline Settings optane(const Overrides& overrides = {}) {
  Settings settings = Settings::parse(optane_settings);
  apply(settings, overrides);
  return settings;
}

/// Without what comes at times of its own or depends on more than the path under test: no
/// refresh of the on-DIMM DRAM, no wear, no stalls.
inline Settings quiet_optane(const Overrides& overrides = {}) {
  Settings settings = optane({{"nvdimm.dram.refresh.enabled", "false"},
                              {"nvdimm.wear.writes", "0"},
                              {"nvdimm.wear.minor.1.interval", "0"},
                              {"nvdimm.wear.minor.2.interval", "0"}});
  apply(settings, overrides);
  return settings;
}

/// A random, possible machine, small everywhere, so that whatever can be full is often full
/// and whatever can be evicted often is; blocks move after a few writes.
inline Settings random_optane(std::uint64_t seed) {
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<std::uint64_t> values) {
    return std::to_string(values.begin()[rng.below(values.size())]);
  };
  const auto name_of = [&](std::initializer_list<const char*> names) {
    return std::string(names.begin()[rng.below(names.size())]);
  };
  const auto ways_of = [&](std::uint64_t entries) {
    std::uint64_t ways = 1 + rng.below(entries);
    while (entries % ways != 0) --ways;
    return std::to_string(ways);
  };
  const std::uint64_t rmw = std::stoull(one_of({1, 2, 3, 6, 16, 64}));
  const std::uint64_t ait = std::stoull(one_of({1, 2, 5, 12, 64}));
  const std::uint64_t lsq = std::stoull(one_of({1, 2, 5, 16, 64}));
  const std::string block = one_of({64, 256, 256, 512});
  return optane({{"seed", std::to_string(seed)},
                 {"channels", one_of({1, 2, 3, 6})},
                 {"capacity", "16777216"},
                 {"nvdimm.media.capacity", "16777216"},
                 {"imc.interleave", one_of({64, 256, 4096})},
                 {"imc.wpq.lines", one_of({1, 2, 8})},
                 {"imc.rpq.lines", one_of({1, 3, 44})},
                 {"nvdimm.lsq.lines", std::to_string(lsq)},
                 {"nvdimm.lsq.high", std::to_string(rng.below(lsq))},
                 {"nvdimm.lsq.hold", one_of({0, 100'000, 2'000'000})},
                 {"nvdimm.lsq.drain_on_fence", name_of({"true", "false"})},
                 {"nvdimm.buffer.1.entries", std::to_string(rmw)},
                 {"nvdimm.buffer.1.entry", block},
                 {"nvdimm.buffer.1.ways", ways_of(rmw)},
                 {"nvdimm.buffer.1.policy", name_of({"fifo", "lru", "random"})},
                 {"nvdimm.buffer.1.lanes", one_of({1, 3, 16})},
                 {"nvdimm.buffer.2.entries", std::to_string(ait)},
                 {"nvdimm.buffer.2.ways", ways_of(ait)},
                 {"nvdimm.buffer.2.policy", name_of({"fifo", "lru", "random"})},
                 {"nvdimm.buffer.2.fill", name_of({"none", "sector", "page"})},
                 {"nvdimm.media.access", block == "64" ? "64" : one_of({64, 256})},
                 {"nvdimm.media.partitions", one_of({1, 2, 16})},
                 {"nvdimm.media.page_reads", one_of({0, 1, 3})},
                 {"nvdimm.media.write_queue", one_of({1, 2, 4, 16})},
                 {"nvdimm.media.write_high", one_of({1, 2, 4})},
                 {"nvdimm.media.write_batch", one_of({1, 5})},
                 {"nvdimm.media.read_batch", one_of({1, 64})},
                 {"nvdimm.wear.writes", one_of({0, 1, 3, 20, 20})},
                 {"nvdimm.wear.block", one_of({4096, 8192})},
                 {"nvdimm.wear.stall", one_of({0, 1000, 300'000, 5'000'000})},
                 {"nvdimm.wear.spares", one_of({0, 1, 2, 9})},
                 {"nvdimm.wear.minor.1.interval", one_of({0, 7})},
                 {"nvdimm.wear.minor.1.stall", "700000"},
                 {"nvdimm.wear.minor.2.interval", one_of({0, 11})},
                 {"nvdimm.dram.queue.read", one_of({1, 4, 64})},
                 {"nvdimm.dram.queue.write", "4"},
                 {"nvdimm.dram.queue.write_high", "3"},
                 {"nvdimm.dram.queue.write_low", "1"}});
}

/// One request as a port means to send it.
struct Arrival {
  Tick time;
  Request request;
};

struct StreamShape {
  std::size_t count = 2000;
  std::uint32_t writes_percent = 50;
  std::uint32_t hot_percent = 50;     ///< to a few lines of two pages
  std::uint64_t hot_lines = 24;
  std::uint64_t mean_gap_ps = 30'000;
  std::uint32_t pause_percent = 1;    ///< arrivals before which nothing comes for a while
  std::uint64_t pause_ps = 1'500'000;
  std::uint16_t ports = 3;
};

/// A stream of any mixture and pace, the same for a seed.
inline StreamShape shape_of(std::uint64_t seed) {
  Rng rng(seed * 7919 + 1);
  StreamShape shape;
  shape.writes_percent = static_cast<std::uint32_t>(rng.below(101));
  shape.hot_percent = static_cast<std::uint32_t>(rng.below(101));
  shape.hot_lines = 1 + rng.below(60);
  shape.mean_gap_ps = std::uint64_t{1} << (6 + rng.below(13));
  shape.ports = static_cast<std::uint16_t>(1 + rng.below(9));
  return shape;
}

/// A random stream over a few hundred pages. Ids have nothing to do with places or order; the
/// data are different for each write and never 0.
inline std::vector<Arrival> random_stream(Bytes capacity, const StreamShape& shape,
                                          std::uint64_t seed) {
  Rng rng(seed);
  const std::uint64_t lines = std::min<std::uint64_t>(capacity / line_bytes, 1 << 14);
  std::vector<Arrival> arrivals(shape.count);
  Tick time(0);
  for (std::size_t i = 0; i < shape.count; ++i) {
    time += Tick(rng.below(2 * shape.mean_gap_ps));
    if (rng.below(100) < shape.pause_percent) time += Tick(rng.below(2 * shape.pause_ps));
    Request& request = arrivals[i].request;
    request.id = (seed << 32) + (shape.count - i) * 3;
    const bool hot = rng.below(100) < shape.hot_percent;
    const std::uint64_t line =
        hot ? rng.below(2) * 64 + rng.below(shape.hot_lines) : rng.below(lines);
    request.address = Address(line * line_bytes);
    request.op = rng.below(100) < shape.writes_percent ? Op::write : Op::read;
    request.port = static_cast<std::uint16_t>(rng.below(shape.ports));
    request.tell_media = request.op == Op::write && rng.below(2) == 0;
    if (request.op == Op::write) request.data = (seed << 32) + i + 1;
    arrivals[i].time = time;
  }
  return arrivals;
}

inline std::string text(const Completion& c) {
  return std::to_string(c.time.ps()) + " id " + std::to_string(c.id) + " address " +
         std::to_string(c.address.value()) + " kind " + std::to_string(static_cast<int>(c.kind)) +
         " data " + std::to_string(c.data);
}

/// Everything that came out of a run.
struct Outcome {
  std::vector<Completion> completions;  ///< wakes included, in the order of the sink
  std::vector<Tick> accepted;           ///< by index of the arrival
  std::vector<std::uint64_t> order;     ///< indices of arrivals, in the order of acceptance
  Tick settled{};  ///< long after the last answer: how far the device has been advanced
  std::map<std::string, std::uint64_t> counters;  ///< as of then
};

inline std::map<std::string, std::uint64_t> counters_of(const Device& device) {
  Counters counters;
  device.register_counters(counters);
  std::map<std::string, std::uint64_t> values;
  for (const auto& reading : counters.read()) values[reading.name] = reading.value;
  return values;
}

/// After the last answer, time in which whatever is under way inside comes to its end.
inline constexpr Tick settling{1'000'000'000};

/// How `drive` asks the device to move on.
struct Driving {
  Tick start{};                          ///< added to every arrival
  std::optional<std::uint64_t> splits;   ///< advance() also to random instants in between
  bool to_completion = false;            ///< by advance_to_completion()
  std::uint64_t fence_every = 0;         ///< a fence after so many acceptances; 0: none
};

/// Sends `arrivals` (in order of time; each port keeps its order and waits when refused) and
/// runs until every request is answered, media events included. Throws std::logic_error when
/// nothing comes for 20 ms of simulated time though something should, or when the device calls
/// itself idle with a request inside.
inline Outcome drive(Device& device, const std::vector<Arrival>& arrivals,
                     const Driving& driving = {}) {
  Outcome outcome;
  outcome.accepted.resize(arrivals.size());
  struct Port {
    std::vector<std::size_t> todo;  ///< indices of arrivals, the next one last
    bool waits = false;
  };
  std::vector<Port> ports;
  std::size_t unanswered = 0;
  std::size_t inside = 0;
  for (std::size_t i = arrivals.size(); i-- > 0;) {
    const Request& request = arrivals[i].request;
    if (request.port >= ports.size()) ports.resize(std::size_t{request.port} + 1);
    ports[request.port].todo.push_back(i);
    unanswered += request.tell_media ? 2 : 1;
  }
  const auto due = [&](const Port& port) {
    return driving.start + arrivals[port.todo.back()].time;
  };

  Rng rng(driving.splits.value_or(0));
  Sink sink;
  Tick now = driving.start;
  Tick last_progress = now;
  device.advance(now, sink);
  while (unanswered > 0) {
    Tick next_send = Tick::never();
    for (const Port& port : ports) {
      if (!port.todo.empty() && !port.waits) next_send = min(next_send, max(now, due(port)));
    }
    const Tick next = min(next_send, device.next_event());
    if (next_send < Tick::never()) last_progress = max(last_progress, next_send);
    if (next.is_never() || next > last_progress + Tick(20'000'000'000)) {
      throw std::logic_error(std::to_string(unanswered) + " answers never come");
    }
    if (driving.splits) {
      for (std::uint64_t n = rng.below(3); n > 0 && next > now + Tick(1); --n) {
        now += Tick(1 + rng.below((next - now).ps() - 1));
        device.advance(now, sink);
      }
    }
    if (driving.to_completion) {
      now = max(now, device.advance_to_completion(max(now, next_send), sink));
    } else {
      now = max(now, next);
      device.advance(now, sink);
    }
    for (const Completion& completion : sink) {
      if (completion.time != now) throw std::logic_error("told late: " + text(completion));
      outcome.completions.push_back(completion);
      last_progress = now;
      if (completion.kind == Completion::Kind::wake) {
        if (completion.id < ports.size()) ports[completion.id].waits = false;
      } else if (--unanswered, inside-- == 0) {
        throw std::logic_error("more answers than questions");
      }
    }
    sink.clear();
    for (Port& port : ports) {
      while (!port.todo.empty() && !port.waits && due(port) <= now) {
        const std::size_t index = port.todo.back();
        if (!device.try_send(arrivals[index].request, now).accepted) {
          port.waits = true;
          continue;
        }
        outcome.accepted[index] = now;
        outcome.order.push_back(index);
        inside += arrivals[index].request.tell_media ? 2 : 1;
        port.todo.pop_back();
        if (driving.fence_every != 0 && outcome.order.size() % driving.fence_every == 0) {
          device.fence(now);
        }
      }
    }
    if (inside > 0 && device.idle()) throw std::logic_error("idle with a request inside");
  }
  // What is left is writes that were persistent when they were accepted. The counters are those
  // of an instant that does not depend on how time was split.
  const auto& answers = outcome.completions;
  outcome.settled = (answers.empty() ? driving.start : answers.back().time) + settling;
  device.advance(outcome.settled, sink);
  for (const Completion& completion : sink) {
    if (completion.kind != Completion::Kind::wake) {
      throw std::logic_error("more answers than questions");
    }
  }
  if (!device.idle()) throw std::logic_error("never idle again");
  outcome.counters = counters_of(device);
  return outcome;
}

/// The first place where two lists differ, in words; empty when they do not.
inline std::string difference(const std::vector<Completion>& a, const std::vector<Completion>& b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (text(a[i]) != text(b[i])) {
      return "item " + std::to_string(i) + ": " + text(a[i]) + " | " + text(b[i]);
    }
  }
  if (a.size() == b.size()) return "";
  return "lengths " + std::to_string(a.size()) + " and " + std::to_string(b.size());
}

}  // namespace nearfar::sim::testing

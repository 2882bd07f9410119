#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/rng.h"
#include "sim/dram/channel.h"

/// What the tests of the DRAM channel share: machines, streams of requests, and a driver that
/// keeps everything it sees.
namespace nearfar::sim::dram::testing {

/// DDR4-2666V (19-19-19-43), 8 Gbit x8, one rank: the values of JESD79-4.
inline Config ddr4_2666() {
  Config config;
  config.mapping = "row-rank-bank-column-bank_group";
  return config;
}

/// One subchannel of DDR5-4800B (40-39-39), 16 Gbit x8, one rank: the values of JESD79-5.
inline Config ddr5_4800() {
  Config config;
  config.standard = Standard::ddr5;
  config.clock = Tick(416);
  config.bank_groups = 8;
  config.banks = 4;
  config.burst_length = 16;
  config.timing = {.cl = 40,
                   .cwl = 38,
                   .rcd = 39,
                   .rp = 39,
                   .ras = 77,
                   .rc = 116,
                   .ccd_s = 8,
                   .ccd_l = 12,
                   .rrd_s = 8,
                   .rrd_l = 12,
                   .faw = 32,
                   .wtr_s = 6,
                   .wtr_l = 24,
                   .wr = 72,
                   .rtp = 18,
                   .rfc = 708,
                   .refi = 9375,
                   .xp = 18,
                   .cke = 18,
                   .ckesr = 36,
                   .xs = 708,
                   .dllk = 1536,
                   .rtrs = 3,
                   .burst = 8,
                   .ccd_l_w = 24,
                   .ppd = 2,
                   .rfc_sb = 312,
                   .refsb_rd = 72};
  config.mapping = "row-rank-bank-column-bank_group";
  return config;
}

inline Config example_of(Standard standard) {
  return standard == Standard::ddr4 ? ddr4_2666() : ddr5_4800();
}

inline std::string title(Standard standard) { return standard == Standard::ddr4 ? "DDR4" : "DDR5"; }

/// The same without refresh, so that only the timing under test shows.
inline Config without_refresh(Standard standard = Standard::ddr4) {
  Config config = example_of(standard);
  config.refresh = false;
  return config;
}

struct Recorder : CommandLog {
  void record(const CommandRecord& command) override { commands.push_back(command); }
  std::vector<CommandRecord> commands;
};

/// One request as a port means to send it.
struct Arrival {
  Tick time;
  Request request;
};

/// Everything that came out of a run.
struct Outcome {
  std::vector<CommandRecord> commands;
  std::vector<Completion> completions;  ///< wake-ups included
  std::vector<Counters::Reading> counters;
  std::vector<Tick> accepted;           ///< by index of the arrival
};

inline bool operator==(const CommandRecord& a, const CommandRecord& b) {
  return a.time == b.time && a.command == b.command && a.channel == b.channel && a.rank == b.rank &&
         a.bank_group == b.bank_group && a.bank == b.bank && a.row == b.row && a.column == b.column;
}

inline std::string text(const CommandRecord& c) {
  return std::to_string(c.time.ps()) + " " + std::string(name(c.command)) + " rank " +
         std::to_string(c.rank) + " group " + std::to_string(c.bank_group) + " bank " +
         std::to_string(c.bank) + " row " + std::to_string(c.row) + " column " +
         std::to_string(c.column);
}

inline std::string text(const Completion& c) {
  return std::to_string(c.time.ps()) + " id " + std::to_string(c.id) + " address " +
         std::to_string(c.address.value()) + " kind " + std::to_string(static_cast<int>(c.kind)) +
         " data " + std::to_string(c.data);
}

/// The first place where two lists differ, in words; empty when they do not.
template <typename List>
std::string difference(const List& a, const List& b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (text(a[i]) != text(b[i])) {
      return "item " + std::to_string(i) + ": " + text(a[i]) + " | " + text(b[i]);
    }
  }
  if (a.size() == b.size()) return "";
  return "lengths " + std::to_string(a.size()) + " and " + std::to_string(b.size());
}

inline std::uint64_t counter(const Outcome& outcome, const std::string& name) {
  for (const auto& reading : outcome.counters) {
    if (reading.name == name) return reading.value;
  }
  return ~std::uint64_t{0};
}

inline std::vector<Counters::Reading> counters_of(const Channel& channel) {
  Counters counters;
  channel.register_counters(counters, "");
  return counters.read();
}

/// Sends `arrivals` (in order of time; each port keeps its order and waits when refused) and
/// runs until everything is done, or until `until` if that is later. With `splits`, `advance`
/// is also called at random instants in between.
inline Outcome drive(const Config& config, Mode mode, const std::vector<Arrival>& arrivals,
                     Tick until = Tick(0), std::optional<std::uint64_t> splits = std::nullopt) {
  Recorder recorder;
  Channel channel(config, 0, &recorder, mode);
  Outcome outcome;
  outcome.accepted.resize(arrivals.size());

  struct Port {
    std::vector<std::size_t> todo;  ///< indices of arrivals, the next one last
    Tick ready;                     ///< when it may send, refusals considered
    bool waits = false;
  };
  std::vector<Port> ports;
  for (std::size_t i = arrivals.size(); i-- > 0;) {
    const std::uint16_t port = arrivals[i].request.port;
    if (port >= ports.size()) ports.resize(port + std::size_t{1});
    ports[port].todo.push_back(i);
  }

  Rng rng(splits.value_or(0));
  Sink sink;
  Tick now(0);
  while (true) {
    Tick next = channel.next_event();
    bool work = !channel.idle();
    for (const Port& port : ports) {
      if (port.todo.empty()) continue;
      work = true;
      if (!port.waits) next = min(next, max(port.ready, arrivals[port.todo.back()].time));
    }
    if (!work) {
      if (now >= until) break;
      next = min(next, until);
    }
    if (splits && next > now + Tick(1)) {
      for (std::uint64_t n = rng.below(3); n > 0 && next > now + Tick(1); --n) {
        now += Tick(1 + rng.below((next - now).ps() - 1));
        channel.advance(now, sink);
      }
    }
    now = max(now, next);
    channel.advance(now, sink);
    for (const Completion& completion : sink) {
      outcome.completions.push_back(completion);
      if (completion.kind == Completion::Kind::wake && completion.id < ports.size()) {
        ports[completion.id].waits = false;
        ports[completion.id].ready = now;
      }
    }
    sink.clear();
    for (Port& port : ports) {
      while (!port.todo.empty() && !port.waits && arrivals[port.todo.back()].time <= now) {
        if (channel.try_send(arrivals[port.todo.back()].request, now).accepted) {
          outcome.accepted[port.todo.back()] = now;
          port.todo.pop_back();
        } else {
          port.waits = true;
        }
      }
    }
  }
  outcome.commands = std::move(recorder.commands);
  outcome.counters = counters_of(channel);
  return outcome;
}

/// A random stream: bursts and pauses, hot rows and hot lines among random ones.
struct StreamShape {
  std::size_t count = 1000;
  std::uint32_t writes_percent = 30;
  std::uint32_t hot_percent = 40;    ///< to a few lines close together
  std::uint64_t mean_gap_ps = 6000;  ///< between arrivals
  std::uint32_t pause_percent = 1;   ///< arrivals before which nothing comes for a while
  std::uint64_t pause_ps = 2'000'000;
  std::uint16_t ports = 3;
};

inline std::vector<Arrival> random_stream(const Config& config, const StreamShape& shape,
                                          std::uint64_t seed) {
  Rng rng(seed);
  const std::uint64_t lines = config.capacity() / line_bytes;
  const std::uint64_t hot = rng.below(lines - 32);
  std::vector<Arrival> arrivals(shape.count);
  Tick time(0);
  for (std::size_t i = 0; i < shape.count; ++i) {
    time += Tick(rng.below(2 * shape.mean_gap_ps));
    if (rng.below(100) < shape.pause_percent) time += Tick(rng.below(2 * shape.pause_ps));
    Request& request = arrivals[i].request;
    request.id = 1'000'000 + i;
    const bool near = rng.below(100) < shape.hot_percent;
    request.address = Address((near ? hot + rng.below(32) : rng.below(lines)) * line_bytes);
    request.op = rng.below(100) < shape.writes_percent ? Op::write : Op::read;
    request.port = static_cast<std::uint16_t>(rng.below(shape.ports));
    request.tell_media = request.op == Op::write && rng.below(2) == 0;
    request.data = rng.next();
    arrivals[i].time = time;
  }
  return arrivals;
}

/// A random, possible machine: small in rows, so that streams meet in banks.
inline Config random_config(std::uint64_t seed, Standard standard = Standard::ddr4) {
  const bool ddr5 = standard == Standard::ddr5;
  Rng rng(seed);
  const auto one_of = [&](std::initializer_list<std::uint32_t> values) {
    return values.begin()[rng.below(values.size())];
  };
  Config config = example_of(standard);
  config.clock = Tick(ddr5 ? one_of({357, 416}) : one_of({625, 682, 750, 833}));
  config.ranks = one_of({1, 1, 2, 3, 4});
  config.bank_groups = one_of({2, 4, 4}) * (ddr5 ? 2 : 1);
  config.banks = one_of({2, 4});
  config.rows = one_of({2, 8, 64});
  config.columns = one_of({64, 1024});
  config.read_queue = one_of({1, 2, 5, 16, 64});
  config.write_queue = one_of({1, 2, 5, 16, 64});
  config.write_high = 1 + static_cast<std::uint32_t>(rng.below(config.write_queue));
  config.write_low = static_cast<std::uint32_t>(rng.below(config.write_high));
  config.page = rng.below(2) == 0 ? PagePolicy::open : PagePolicy::closed;
  config.refresh = rng.below(8) != 0;
  config.refresh_postpone = one_of({0, 0, 1, 4, 8});
  config.timing.refi = one_of({1400, 3000, 10400});
  config.timing.rfc = ddr5 ? one_of({312, 708}) : one_of({208, 467});
  config.powerdown_idle = one_of({0, 1, 20, 200});
  config.selfrefresh_idle = one_of({0, 0, 60, 1000, 5000});
  config.timing.cl = one_of({15, 19, 24});
  config.timing.cwl = one_of({12, 18});
  if (ddr5) config.timing.cwl = config.timing.cl - 2;
  if (config.total_banks() > 64) config.ranks = 2;
  if (ddr5 && rng.below(2) == 0) {
    config.same_bank_refresh = true;
    config.timing.refi = one_of({2400, 4687});
  }
  config.timing.rtrs = one_of({0, 1, 2, 3});
  config.mapping = std::vector<std::string>{
      "row-rank-bank-column-bank_group", "row-bank-bank_group-rank-column",
      "rank-bank-bank_group-row-column", "row-column_high-rank-bank-bank_group-column_low",
      "column-row-bank-rank-bank_group"}[rng.below(5)];
  config.hash = rng.below(2) == 0;
  return config;
}

}  // namespace nearfar::sim::dram::testing

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/rng.h"
#include "base/tick.h"
#include "sim/request.h"

namespace nearfar::bench {

/// A stream of 64-byte lines over [0, footprint).
struct Stream {
  bool random = false;
  std::uint64_t reads_percent = 100;
  std::uint64_t outstanding = 0;  ///< requests in flight at most; 0: what the memory takes
  Bytes footprint = 0;
};

/// What a stream saw of the simulated memory.
struct Outcome {
  std::uint64_t requests = 0;
  Tick elapsed;           ///< from the first request to the last completion
  Tick read_latency_sum;  ///< from acceptance to completion, over all reads
  std::uint64_t reads = 0;
};

/// The stream of that name over the given footprint; `known` says whether there is one.
inline Stream stream_named(std::string_view name, Bytes footprint, bool& known) {
  known = true;
  constexpr std::uint64_t many = 64;  // as `nearfar replay --outstanding 64`
  if (name == "sequential") return {.outstanding = many, .footprint = footprint};
  if (name == "chase") return {.random = true, .outstanding = 1, .footprint = footprint};
  if (name == "random") return {.random = true, .outstanding = many, .footprint = footprint};
  if (name == "mixed") {
    return {.random = true, .reads_percent = 70, .outstanding = many, .footprint = footprint};
  }
  known = false;
  return {};
}

/// The lines of a stream, one after the other.
class Lines {
 public:
  explicit Lines(const Stream& stream) : stream_(stream), lines_(stream.footprint / line_bytes) {}

  void draw(sim::Request& request) {
    const std::uint64_t line = stream_.random ? rng_.below(lines_) : drawn_++ % lines_;
    const bool read = stream_.reads_percent == 100 || rng_.below(100) < stream_.reads_percent;
    request.address = Address(line * line_bytes);
    request.op = read ? sim::Op::read : sim::Op::write;
  }

 private:
  Stream stream_;
  std::uint64_t lines_;
  Rng rng_{1};
  std::uint64_t drawn_ = 0;
};

/// Plays `count` requests of `stream` to anything with try_send, next_event and advance. It
/// does as little as a driver can, because its own instructions are counted with the
/// memory's.
template <typename Memory>
Outcome play(Memory& memory, const Stream& stream, std::uint64_t count) {
  Lines lines(stream);
  sim::Sink sink;
  Outcome outcome;
  Tick now;
  std::uint64_t sent = 0;
  std::uint64_t done = 0;
  bool refused = false;
  sim::Request request;
  lines.draw(request);
  const std::uint64_t outstanding = stream.outstanding == 0 ? count : stream.outstanding;
  while (done < count) {
    for (const std::uint64_t end = std::min(count, done + outstanding); sent < end && !refused;) {
      // The id comes back in the completion, so it can carry the time and the operation.
      request.id = now.ps() * 2 + (request.op == sim::Op::read ? 1 : 0);
      refused = !memory.try_send(request, now).accepted;
      if (refused) break;
      ++sent;
      lines.draw(request);
    }
    if constexpr (requires { memory.advance_to_completion(now, sink); }) {
      now = memory.advance_to_completion(Tick::never(), sink);
    } else {
      now = memory.next_event();
      memory.advance(now, sink);
    }
    for (const sim::Completion& completion : sink) {
      if (completion.kind == sim::Completion::Kind::wake) {
        refused = false;
      } else if (completion.kind == sim::Completion::Kind::done) {
        ++done;
        outcome.elapsed = completion.time;
        if (completion.id % 2 == 1) {
          ++outcome.reads;
          outcome.read_latency_sum += completion.time - Tick(completion.id / 2);
        }
      }
    }
    sink.clear();
  }
  outcome.requests = count;
  return outcome;
}

/// One line that run.py reads: requests, elapsed ps, reads, sum of read latencies in ps.
inline void print(const Outcome& outcome) {
  std::printf("%llu %llu %llu %llu\n", static_cast<unsigned long long>(outcome.requests),
              static_cast<unsigned long long>(outcome.elapsed.ps()),
              static_cast<unsigned long long>(outcome.reads),
              static_cast<unsigned long long>(outcome.read_latency_sum.ps()));
}

}  // namespace nearfar::bench

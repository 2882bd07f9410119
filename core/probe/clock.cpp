#include "probe/clock.h"

#include <time.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "probe/isa.h"

namespace nearfar::probe {
namespace {

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct Moment {
  std::uint64_t ns = 0;
  std::uint64_t cycles = 0;
};

/// Both clocks at once: of several readings the one that took least, so that no interruption
/// lies between the two.
Moment moment() {
  Moment best;
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = start_cycles();
    const std::uint64_t ns = monotonic_ns();
    const std::uint64_t after = stop_cycles();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {ns, before + (after - before) / 2};
  }
  return best;
}

/// Two moments this far apart, each good to some 20 ns, give the rate to about 2 in a million.
constexpr std::uint64_t calibration_ns = 20'000'000;

double measure_ns_per_cycle() {
  const Moment first = moment();
  while (monotonic_ns() - first.ns < calibration_ns) {
  }
  const Moment last = moment();
  return static_cast<double>(last.ns - first.ns) / static_cast<double>(last.cycles - first.cycles);
}

}  // namespace

Clock::Clock() {
  if (!Isa::host().rdtscp) {
    throw InputError("this processor has no rdtscp, so nothing can be timed on it");
  }
  ns_per_cycle_ = measure_ns_per_cycle();
  std::vector<std::uint64_t> empty(4096);
  for (std::uint64_t& cycles : empty) {
    const std::uint64_t start = start_cycles();
    cycles = stop_cycles() - start;
  }
  std::sort(empty.begin(), empty.end());
  overhead_p10_ = empty[empty.size() / 10];
  overhead_p50_ = empty[empty.size() / 2];
  overhead_p90_ = empty[empty.size() * 9 / 10];
}

const Clock& Clock::host() {
  static const Clock clock;
  return clock;
}

}  // namespace nearfar::probe

// bench_caches SETTINGS FOOTPRINT N: N loads that go round FOOTPRINT bytes, all of them in the
// processor's caches. Prints loads, their latency in ps, and both again, as bench/run.py reads it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/settings.h"
#include "sim/cpu/hierarchy.h"

int main(int argc, char** argv) {
  using namespace nearfar;
  using sim::cpu::Hierarchy;
  if (argc != 4) {
    std::fprintf(stderr, "bench_caches SETTINGS FOOTPRINT N\n");
    return 2;
  }
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const std::uint64_t lines = std::strtoull(argv[2], nullptr, 10) / line_bytes;
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);

  Hierarchy caches(sim::cpu::Config::from(Settings::parse(text.str())).caches, 1);
  caches.add_cores(1);
  // The first round learns the lines, the second where they end up.
  for (std::uint64_t i = 0; i < 2 * lines; ++i) {
    caches.warm(0, Address(i % lines * line_bytes), Hierarchy::Kind::load);
  }
  Tick taken{};
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto answer = caches.access(0, Address(i % lines * line_bytes), Hierarchy::Kind::load, 0);
    if (answer.state != Hierarchy::Answer::State::hit) return 1;
    if (answer.level != Hierarchy::Level::l1) caches.release(0, Tick{});
    taken += answer.latency;
  }
  const unsigned long long loads = count;
  const unsigned long long ps = taken.ps();
  std::printf("%llu %llu %llu %llu\n", loads, ps, loads, ps);
  return 0;
}

#include "probe/loaded.h"

#include <cmath>

#include "base/error.h"
#include "probe/generator.h"
#include "probe/instructions.h"
#include "probe/reader.h"

namespace nearfar::probe {
namespace {

/// The clock is looked at no more often than this: looking costs some of it.
constexpr double burst_ns = 100;

Load load_of(const LoadedRequest& request) {
  Load load{.area = request.area,
            .stores = request.stores,
            .accesses = request.accesses,
            .non_temporal = request.op == Op::nt_store};
  if (request.pause_ns <= 0) return load;
  load.burst = static_cast<std::uint64_t>(std::ceil(burst_ns / request.pause_ns));
  load.span = Clock::host().cycles(request.pause_ns * static_cast<double>(load.burst));
  return load;
}

/// Loads the memory until the reader has finished; returns for how many ns.
double generate(Generator& generator, const Member& member) {
  const Width width = Isa::host().width();
  const std::uint64_t start = start_cycles();
  do {
    generator.burst(width);
    while (!generator.due()) continue;
  } while (member.carry_on());
  return Clock::host().raw_ns(stop_cycles() - start);
}

}  // namespace

LoadedTimings loaded(const Memory& memory, const LoadedRequest& request, const Poll& poll) {
  if (request.area < Load::least_area || request.accesses == 0 ||
      (request.op != Op::store && request.op != Op::nt_store)) {
    throw InputError("loaded: found a request that cannot be measured");
  }
  memory.check_holds(request.area * request.cpus.size());
  const std::vector<std::uint32_t> next = random_cycle(request.area / line_bytes, request.seed);
  LoadedTimings timings;
  std::vector<double> loads(request.cpus.size());
  std::vector<double> stores(request.cpus.size());
  timings.disturbance = run_team(
      request.cpus,
      [&](const Member& member) {
        std::byte* const base = memory.base() + member.index() * request.area;
        if (member.leads()) link({.base = base}, next);
        flush(base, request.area);
        member.await_start();
        if (member.leads()) {
          timings.reader = read_singly(base, request.reads, member);
          return;
        }
        Generator generator(base, load_of(request));
        const double ns = generate(generator, member);
        loads[member.index()] = static_cast<double>(generator.loaded()) / ns;
        stores[member.index()] = static_cast<double>(generator.stored()) / ns;
      },
      poll, /*stop_with_leader=*/true);
  for (const double rate : loads) timings.loads_per_ns += rate;
  for (const double rate : stores) timings.stores_per_ns += rate;
  return timings;
}

}  // namespace nearfar::probe

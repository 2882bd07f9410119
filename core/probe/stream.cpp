#include "probe/stream.h"

#include "base/error.h"
#include "probe/disturber.h"
#include "probe/instructions.h"
#include "probe/reader.h"

namespace nearfar::probe {
namespace {

constexpr std::uint64_t chunks_a_thread = 32;
/// Accesses that a disturbing thread makes between two looks at whether it should stop.
constexpr std::uint64_t accesses_between_looks = 256;

std::vector<Chunk> stream_thread(std::byte* base, const StreamRequest& request,
                                 const Member& member) {
  const Clock& clock = Clock::host();
  const Width width = Isa::host().width();
  const AccessKernel kernel = access_kernel(request.op, width);
  const Accesses accesses{.base = base,
                          .area = request.area,
                          .access = request.access,
                          .stride = request.stride,
                          .reads_percent = request.reads_percent,
                          .fence_every = request.fence_every,
                          .fence = request.fence,
                          .value = request.value ? request.value->bytes.data() : nullptr};
  AccessState state;
  state.random = request.seed + member.index();
  const std::uint64_t lines_each = request.access / line_bytes;
  const std::uint64_t wanted = (request.lines + lines_each - 1) / lines_each;
  ChunkSize size(wanted / chunks_a_thread);
  std::vector<Chunk> chunks;
  if (request.held) fill_with(base, request.area, request.held->bytes.data(), width);
  flush(base, request.area);
  member.await_start();
  while (state.done < wanted && member.carry_on()) {
    const std::uint64_t count = std::min(size.units(), wanted - state.done);
    const std::uint64_t start = start_cycles();
    kernel(accesses, state, count);
    const double ns = clock.ns(stop_cycles() - start);
    size.learn(ns, count);
    chunks.push_back({ns, count * lines_each, 0});
  }
  return chunks;
}

/// Disturbs the reader until it has finished; returns how fast, in bytes/ns.
double disturb(Disturber& disturber, const Member& member) {
  const std::uint64_t start = start_cycles();
  do {
    if (!disturber.pauses()) {
      disturber.access(accesses_between_looks);
    } else {
      for (std::uint64_t i = 0; i < accesses_between_looks; ++i) {
        disturber.access(1);
        while (!disturber.due()) relax();
      }
    }
  } while (member.carry_on());
  const double ns = Clock::host().raw_ns(stop_cycles() - start);
  return static_cast<double>(disturber.done() * line_bytes) / ns;
}

}  // namespace

Timings stream(const Memory& memory, const StreamRequest& request, const Poll& poll) {
  if (request.access == 0 || request.access % line_bytes != 0 || request.lines == 0 ||
      request.area < std::max(request.access, request.stride)) {
    throw InputError("stream: access, stride and area do not fit one another");
  }
  memory.check_holds(request.area * request.cpus.size());
  Timings timings;
  timings.threads.resize(request.cpus.size());
  timings.disturbance = run_team(
      request.cpus,
      [&](const Member& member) {
        std::byte* const base = memory.base() + member.index() * request.area;
        timings.threads[member.index()] = stream_thread(base, request, member);
      },
      poll);
  return timings;
}

ContentionTimings contention(const Memory& memory, const ContentionRequest& request,
                             const Poll& poll) {
  memory.check_holds(request.area * request.cpus.size());
  const std::vector<std::uint32_t> next = random_cycle(request.area / line_bytes, request.seed);
  const Disturbing what{.chases = request.chases,
                        .op = request.op,
                        .width = Isa::host().width(),
                        .delay = Clock::host().cycles(request.delay_ns)};
  ContentionTimings timings;
  std::vector<double> rates(request.cpus.size());
  timings.disturbance = run_team(
      request.cpus,
      [&](const Member& member) {
        std::byte* const base = memory.base() + member.index() * request.area;
        if (member.leads() || request.chases) link({.base = base}, next);
        flush(base, request.area);
        member.await_start();
        if (member.leads()) {
          timings.reader = read_singly(base, request.reads, member);
        } else {
          Disturber disturber(base, request.area, what, request.seed + member.index());
          rates[member.index()] = disturb(disturber, member);
        }
      },
      poll, /*stop_with_leader=*/true);
  for (const double rate : rates) timings.other_gb_per_s += rate;
  return timings;
}

}  // namespace nearfar::probe

#include "sim/machine/loaded.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "sim/cpu/agent.h"
#include "sim/cpu/loaded.h"
#include "sim/machine/build.h"
#include "sim/machine/fill.h"
#include "sim/machine/pattern_programs.h"
#include "sim/machine/tables.h"

namespace nearfar::sim {
namespace {

/// Of the reader at each rate, before it counts: the queues and the generators' caches, most of all
/// the share of dirty lines, take some of its reads to come to rest.
constexpr std::uint64_t settling_percent = 25;

cpu::PacingReader::Plan plan_of(const LoadedPattern& pattern) {
  cpu::PacingReader::Plan plan;
  if (pattern.parts == 0 || pattern.threads == 0 || pattern.reads == 0 || pattern.accesses == 0) {
    throw InputError("loaded: there is nothing to measure");
  }
  plan.generators = pattern.threads;
  plan.parts = pattern.parts;
  plan.reads = pattern.reads;
  plan.settling = 1 + pattern.reads * settling_percent / 100;
  return plan;
}

std::unique_ptr<cpu::Program> generator(const LoadedPattern& pattern, const cpu::Config& core,
                                        const std::shared_ptr<cpu::Pace>& pace,
                                        std::uint32_t thread, std::uint64_t seed) {
  cpu::GeneratorShape shape;
  shape.pace = pace;
  shape.base = Address(thread * pattern.area);
  shape.area = pattern.area;
  shape.store = kind_of(pattern.op);
  shape.stores = pattern.stores;
  shape.accesses = pattern.accesses;
  shape.line_instructions = core.line_instructions;
  shape.seed = seed + thread;
  return std::make_unique<cpu::LoadGenerator>(shape);
}

}  // namespace

std::vector<LoadedPoint> measure(const Settings& settings, const LoadedPattern& pattern,
                                 const std::function<void()>& poll) {
  cpu::Config core = cpu::Config::from(settings);
  const std::unique_ptr<Device> memory = build(settings);
  if ((1 + pattern.threads) * pattern.area > memory->capacity()) {
    throw InputError("the threads' areas need more than the machine's " +
                     std::to_string(memory->capacity()) + " B; make them smaller");
  }
  if (core.cached) core.caches.tables = tables_of(settings, memory->capacity());
  Counters counters;
  memory->register_counters(counters);

  const auto pace = std::make_shared<cpu::Pace>();
  std::vector<std::vector<Counters::Reading>> edges;
  auto reader = std::make_unique<cpu::PacingReader>(
      plan_of(pattern), pace,
      std::make_shared<cpu::CyclicOrder>(pattern.area / line_bytes, settings.count("seed")),
      core.line_instructions, [&] { edges.push_back(counters.read()); });
  const cpu::PacingReader& seen = *reader;
  Programs programs;
  programs.push_back(std::move(reader));
  for (std::uint32_t thread = 1; thread <= pattern.threads; ++thread) {
    programs.push_back(generator(pattern, core, pace, thread, settings.count("seed")));
  }
  cpu::Agent::Limits limits;
  // Loads alone leave nothing behind that they would meet again.
  if (core.cached && pattern.op == "store" && pattern.stores != 0) {
    limits.untimed = lines_to_overfill(core, 1 + pattern.threads);
  }
  cpu::Agent agent(*memory, core, settings.count("seed"));
  agent.run(std::move(programs), limits, poll);

  std::vector<LoadedPoint> points;
  for (std::size_t i = 0; i < seen.readings().size(); ++i) {
    const cpu::PaceReading& reading = seen.readings()[i];
    LoadedPoint point;
    point.pause = reading.pause;
    point.elapsed = reading.end - reading.begin;
    point.latency = reading.latency;
    point.counters = edges[2 * i + 1];
    for (std::size_t at = 0; at < point.counters.size(); ++at) {
      point.counters[at].value -= edges[2 * i][at].value;
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace nearfar::sim

#include "sim/machine/measure.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "sim/machine/build.h"
#include "sim/machine/direct_reads.h"
#include "sim/machine/fill.h"
#include "sim/machine/pattern_programs.h"
#include "sim/machine/tables.h"

namespace nearfar::sim {
namespace {

/// Lines after which a figure is steady to about 1 %: some dozen times what the machine's
/// queues and the RMW buffer hold.
constexpr std::uint64_t steady_lines = 40'000;
/// A repeated region is walked at least so often, the first time to warm the buffers.
constexpr std::uint64_t repeats = 8;

/// Cached accesses before a measurement that fill the caches. None where that makes no difference:
/// nothing dirty is left behind, and what is read lies in far more memory than fits.
std::uint64_t lines_to_fill(const cpu::Config& core, const std::string& op, std::uint32_t threads,
                            Bytes area) {
  const bool dirty = op == "store" || op == "load+store";
  if (!core.cached || (!dirty && op != "load" && op != "load+mkpt")) return 0;
  const Bytes caches = core.caches.l3.size + threads * core.caches.l2.size;
  if (!dirty && threads * area > 64 * caches) return 0;
  return lines_to_overfill(core, threads);
}

cpu::Config core_config(const Settings& settings, const AgentChoice& choice,
                        std::uint32_t default_outstanding) {
  if (!choice.core) {
    return cpu::Config::none(choice.outstanding == 0 ? default_outstanding : choice.outstanding);
  }
  cpu::Config config = cpu::Config::from(settings);
  if (choice.outstanding != 0) {
    config.load_buffers = std::min(config.load_buffers, choice.outstanding);
    config.wc_buffers = std::min(config.wc_buffers, choice.outstanding);
    config.store_lines = std::min(config.store_lines, choice.outstanding);
    config.caches.l1.mshrs = std::min(config.caches.l1.mshrs, choice.outstanding);
  }
  return config;
}

void check_fits(Bytes wanted, const Device& memory, const char* what) {
  if (wanted > memory.capacity()) {
    throw InputError(std::string(what) + " need " + std::to_string(wanted) +
                     " B, the machine has " + std::to_string(memory.capacity()) +
                     " B; make them smaller or give fewer lines");
  }
}

/// A core that has caches has page tables.
cpu::Config with_tables(const Settings& settings, cpu::Config core, const Device& memory) {
  if (core.cached) core.caches.tables = tables_of(settings, memory.capacity());
  return core;
}

/// Whether nothing stands between a stream and the one queue of the memory.
bool is_direct(const StreamPattern& pattern, const Device& memory) {
  return !pattern.agent.core && pattern.threads == 1 && pattern.fence_every == 0 &&
         (pattern.op == "load" || pattern.op == "ntload") && memory.queues() == 1;
}

/// The memory under test and everything that is read off it at the end.
class Bench {
 public:
  Bench(const Settings& settings, const cpu::Config& core, dram::CommandLog* log)
      : memory_(build(settings, log)),
        agent_(*memory_, with_tables(settings, core, *memory_), settings.count("seed")) {
    memory_->register_counters(counters_);
  }

  [[nodiscard]] const Device& memory() const { return *memory_; }

  /// Lets everything leave the memory's queues and returns how long that took. The bench is of no
  /// further use.
  Tick drain() {
    const Tick begin = now_;
    Tick now = begin;
    Sink sink;
    while (!memory_->idle()) {
      now = max(memory_->next_event(), now + Tick(1));
      memory_->advance(now, sink);
    }
    return now - begin;
  }

  Point run(std::string op, Programs programs, const cpu::Agent::Limits& limits,
            const std::function<void()>& poll) {
    const std::size_t threads = programs.size();
    Point point = measured(std::move(op), [&](Tick& now) {
      cpu::Agent::Measured all = agent_.run(std::move(programs), limits, poll);
      now = agent_.now();
      return all;
    });
    point.threads = threads;
    return point;
  }

  /// The same of a thread of loads without a core.
  Point run_direct(std::string op, cpu::Program& program, std::uint32_t outstanding,
                   const cpu::Agent::Limits& limits, const std::function<void()>& poll) {
    return measured(std::move(op), [&](Tick& now) {
      DirectReads reads(*memory_, outstanding, now);
      cpu::Agent::Measured all = reads.run(program, limits, poll);
      now = reads.now();
      return all;
    });
  }

 private:
  /// What `run` measures, which begins at the time that it is given and sets it to its end.
  template <typename Run>
  Point measured(std::string op, const Run& run) {
    Point point;
    point.op = std::move(op);
    settle_at(*memory_, now_);
    const auto before = counters_.read();
    cpu::Agent::Measured measured = run(now_);
    settle_at(*memory_, now_);
    point.lines = measured.lines;
    point.elapsed = measured.elapsed;
    point.latency = std::move(measured.latency);
    point.samples = std::move(measured.samples);
    point.counters = counters_.read();
    for (std::size_t i = 0; i < before.size(); ++i) point.counters[i].value -= before[i].value;
    if (agent_.caches() != nullptr) {
      Counters caches;
      agent_.caches()->register_counters(caches);
      for (auto& [name, value] : caches.read()) point.counters.push_back({"cpu." + name, value});
    }
    return point;
  }

  std::unique_ptr<Device> memory_;
  cpu::Agent agent_;
  Tick now_;
  Counters counters_;
};

}  // namespace

std::vector<Point> measure(const Settings& settings, const ChasePattern& pattern,
                           const std::function<void()>& poll, dram::CommandLog* log) {
  const cpu::Config core = core_config(settings, pattern.agent, 64);
  const std::uint64_t region_lines = pattern.region / line_bytes;
  const std::uint64_t wanted = pattern.lines == 0 ? steady_lines : pattern.lines;
  std::uint64_t regions = (wanted + region_lines - 1) / region_lines;
  if (pattern.repeat && pattern.lines == 0) regions = std::max(regions, repeats);
  if (pattern.repeat) ++regions;  // the first walk fills the buffers and does not count
  const bool cut = pattern.walk_lines != 0 && pattern.walk_lines < regions * region_lines;

  Bench bench(settings, core, log);
  // Stores and loads each walk regions of their own: all are cold, as when the passes are
  // so long that nothing of the stores is left in a buffer when the loads begin.
  const Bytes span = pattern.repeat ? pattern.span() : regions * pattern.span();
  const bool apart = !pattern.repeat && !pattern.raw;
  const std::uint64_t passes = apart ? pattern.ops.size() : 1;
  check_fits(span * passes * pattern.threads, bench.memory(), "the regions of the chase");

  const auto order =
      std::make_shared<cpu::CyclicOrder>(pattern.region / pattern.block, settings.count("seed"));
  cpu::Agent::Limits limits;
  if (cut) limits.lines = pattern.walk_lines * pattern.threads;
  // A walk that ends inside its region has no first one to leave out.
  if (pattern.repeat && limits.lines == 0) limits.warm_lines = region_lines * pattern.threads;

  std::vector<Point> points;
  std::uint64_t pass = 0;
  const auto run_pass = [&](const std::string& op) {
    cpu::Agent::Limits own = limits;
    const Address base(span * pass * pattern.threads);
    ChasePass walk{.op = op, .regions = regions, .base = base, .span = span};
    const std::uint64_t fill = lines_to_fill(core, op, pattern.threads, pattern.region);
    if (pattern.repeat && cut && fill != 0) {
      // In place of the walk that would have been the first.
      own.untimed = std::min(fill, region_lines * pattern.threads);
      own.warm_lines = limits.lines / 5;
      own.lines += own.warm_lines;
      walk.regions += (own.untimed + own.lines) / region_lines / pattern.threads;
    }
    points.push_back(bench.run(op, programs_of(pattern, walk, core, order), own, poll));
    if (apart) ++pass;
  };
  if (pattern.raw) {
    run_pass("raw");
    return points;
  }
  std::vector<std::string> ops = pattern.ops;
  std::stable_partition(ops.begin(), ops.end(), [](const auto& op) { return !is_load(op); });
  for (const std::string& op : ops) run_pass(op);
  return points;
}

Point measure(const Settings& settings, const OverwritePattern& pattern,
              const std::function<void()>& poll, dram::CommandLog* log) {
  Bench bench(settings, core_config(settings, {}, 0), log);
  check_fits(pattern.region, bench.memory(), "the overwritten region");
  return bench.run(pattern.op, programs_of(pattern), {}, poll);
}

Point measure(const Settings& settings, const StreamPattern& pattern,
              const std::function<void()>& poll, dram::CommandLog* log) {
  const cpu::Config core = core_config(settings, pattern.agent, 64);
  Bench bench(settings, core, log);
  check_fits(pattern.area * pattern.threads, bench.memory(), "the threads' areas");

  // Plain stores first fill the caches with dirty lines.
  const std::uint64_t fill = pattern.op == "store" && !core.cached ? core.writeback_lines : 0;
  const std::uint64_t lines = pattern.lines == 0 ? steady_lines : pattern.lines;
  cpu::Agent::Limits limits;
  limits.warm_lines = fill + lines / 5;
  limits.lines = limits.warm_lines + lines;
  limits.untimed = lines_to_fill(core, pattern.op, pattern.threads, pattern.area);
  Programs programs = programs_of(pattern, core, settings.count("seed"));
  Point point =
      is_direct(pattern, bench.memory())
          ? bench.run_direct(pattern.op, *programs.front(), core.load_buffers, limits, poll)
          : bench.run(pattern.op, std::move(programs), limits, poll);
  point.lines = lines;
  point.drain = bench.drain();
  return point;
}

Point measure(const Settings& settings, const ContentionPattern& pattern,
              const std::function<void()>& poll, dram::CommandLog* log) {
  const cpu::Config core = core_config(settings, {}, 0);
  Bench bench(settings, core, log);
  const std::uint32_t others = pattern.other == "none" ? 0 : pattern.threads;
  check_fits((1 + others) * pattern.area, bench.memory(), "the threads' areas");
  Programs programs;
  cpu::ChaseShape chase;
  chase.region = pattern.area;
  chase.block = line_bytes;
  chase.regions = 1;
  const auto order =
      std::make_shared<cpu::CyclicOrder>(pattern.area / line_bytes, settings.count("seed"));
  programs.push_back(std::make_unique<cpu::ChaseLoads>(chase, order));
  for (std::uint32_t other = 1; other <= others; ++other) {
    const Address base(other * pattern.area);
    if (pattern.other == "load") {
      chase.base = base;
      chase.pause = pattern.delay;
      programs.push_back(std::make_unique<cpu::ChaseLoads>(chase, order));
      continue;
    }
    cpu::StreamShape shape;
    shape.base = base;
    shape.area = pattern.area;
    shape.access = line_bytes;
    shape.op = kind_of(pattern.other);
    shape.line_instructions = core.line_instructions;
    shape.access_instructions = core.random_access_instructions;
    shape.pause = pattern.delay;
    shape.seed = settings.count("seed") + other - 1;
    programs.push_back(std::make_unique<cpu::StreamAccesses>(shape));
  }
  cpu::Agent::Limits limits;
  limits.leader_lines = pattern.reads;
  Point point = bench.run("load", std::move(programs), limits, poll);
  point.other_lines = point.lines - std::min(point.lines, pattern.reads);
  point.lines = pattern.reads;
  return point;
}

}  // namespace nearfar::sim

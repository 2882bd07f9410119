#include "sim/machine/pattern_programs.h"

#include <limits>
#include <utility>

#include "base/error.h"

namespace nearfar::sim {
namespace {

using cpu::Step;

/// Of chases alone.
constexpr const char* persisted_update = "load+store+clwb";
constexpr const char* marked_load = "load+mkpt";

void check_cached(const std::string& op, const cpu::Config& core) {
  if (core.cached) return;
  throw InputError("operation '" + op + "' needs a core with caches: agent core, and cpu.caches");
}

bool updates(const std::string& op, const cpu::Config& core) {
  if (op != "load+store" && op != persisted_update) return false;
  check_cached(op, core);
  return true;
}

/// The table of a chase's stores has just been written: the caches hold what fits.
std::shared_ptr<cpu::TableCaches> written_table(const cpu::Config& core,
                                                const cpu::CyclicOrder& order) {
  auto caches = std::make_shared<cpu::TableCaches>(core);
  for (std::uint64_t index = 0; index < order.size(); index += line_bytes / 8) caches->read(index);
  return caches;
}

bool is_fence(Step::Kind kind) { return kind == Step::Kind::sfence || kind == Step::Kind::mfence; }

bool is_store(Step::Kind kind) {
  return kind == Step::Kind::nt_store || kind == Step::Kind::store ||
         kind == Step::Kind::store_clwb;
}

}  // namespace

bool is_load(const std::string& op) {
  return op == "load" || op == "ntload" || op == "load+store" || op == persisted_update ||
         op == marked_load;
}

Step::Kind kind_of(const std::string& op) {
  if (op == "load" || op == "load+store" || op == persisted_update || op == marked_load) {
    return Step::Kind::load;
  }
  if (op == "ntload") return Step::Kind::nt_load;
  if (op == "ntstore") return Step::Kind::nt_store;
  if (op == "store") return Step::Kind::store;
  if (op == "store+clwb") return Step::Kind::store_clwb;
  throw InputError("operation '" + op +
                   "' is not known, expected load, ntload, load+store, store, ntstore or "
                   "store+clwb");
}

Programs programs_of(const ChasePattern& pattern, const ChasePass& pass, const cpu::Config& core,
                     const std::shared_ptr<const cpu::CyclicOrder>& order) {
  const bool raw = pass.op == "raw";
  const std::string store = !raw ? pass.op : pattern.ops.empty() ? "ntstore" : pattern.ops.front();
  cpu::ChaseShape shape;
  shape.region = pattern.span();
  shape.block = pattern.block;
  shape.stride = pattern.stride;
  shape.regions = pass.regions;
  shape.repeat = pattern.repeat;
  shape.fence = pattern.fence;
  shape.fence_kind = pattern.fence_kind;
  shape.line_instructions = core.line_instructions;
  if (!raw) {
    shape.load = kind_of(pass.op);
    shape.update = updates(pass.op, core);
    shape.flush = pass.op == persisted_update;
    shape.mark = pass.op == marked_load;
    if (shape.mark) check_cached(pass.op, core);
  }
  Programs programs;
  for (std::uint32_t thread = 0; thread < pattern.threads; ++thread) {
    shape.base = pass.base + pass.span * thread;
    if (raw) {
      programs.push_back(std::make_unique<cpu::ChaseReadAfterWrite>(shape, order, kind_of(store),
                                                                    written_table(core, *order)));
    } else if (is_load(pass.op)) {
      programs.push_back(std::make_unique<cpu::ChaseLoads>(shape, order));
    } else {
      programs.push_back(std::make_unique<cpu::ChaseStores>(shape, order, kind_of(store),
                                                            written_table(core, *order)));
    }
  }
  return programs;
}

Programs programs_of(const OverwritePattern& pattern) {
  Programs programs;
  programs.push_back(std::make_unique<cpu::Overwrite>(Address(0), pattern.region, pattern.writes,
                                                      kind_of(pattern.op), pattern.fence_kind));
  return programs;
}

Programs programs_of(const StreamPattern& pattern, const cpu::Config& core, std::uint64_t seed) {
  cpu::StreamShape shape;
  shape.area = pattern.area;
  shape.access = pattern.access;
  shape.stride = pattern.stride;
  shape.op = kind_of(pattern.op);
  shape.reads_percent = pattern.reads_percent;
  shape.fence_every = pattern.fence_every;
  shape.fence_kind = pattern.fence_kind;
  shape.line_instructions = core.line_instructions;
  shape.access_instructions =
      pattern.stride == 0 ? core.random_access_instructions : core.strided_access_instructions;
  shape.update = updates(pattern.op, core);
  Programs programs;
  for (std::uint32_t thread = 0; thread < pattern.threads; ++thread) {
    shape.base = Address(thread * pattern.area);
    shape.seed = seed + thread;
    programs.push_back(std::make_unique<cpu::StreamAccesses>(shape));
  }
  return programs;
}

std::vector<PersistentStep> persistent_steps(Programs programs, std::uint64_t lines) {
  std::vector<PersistentStep> steps;
  for (std::uint32_t thread = 0; thread < programs.size(); ++thread) {
    Step step;
    for (std::uint64_t accessed = 0; programs[thread]->next(step);) {
      const bool access =
          is_store(step.kind) || step.kind == Step::Kind::load || step.kind == Step::Kind::nt_load;
      if (access && !step.again && ++accessed > lines) break;
      if (is_store(step.kind) || is_fence(step.kind)) steps.push_back({thread, step});
    }
  }
  return steps;
}

std::vector<PersistentStep> persistent_steps(const Settings& settings,
                                             const ChasePattern& pattern) {
  const cpu::Config core = cpu::Config::from(settings);
  const auto order =
      std::make_shared<cpu::CyclicOrder>(pattern.region / pattern.block, settings.count("seed"));
  const std::uint64_t region_lines = pattern.region / line_bytes;
  ChasePass pass;
  pass.op = pattern.raw ? "raw" : pattern.ops.front();
  pass.regions = (pattern.lines + region_lines - 1) / region_lines;
  pass.span = pattern.repeat ? pattern.span() : pass.regions * pattern.span();
  return persistent_steps(programs_of(pattern, pass, core, order),
                          std::numeric_limits<std::uint64_t>::max());
}

std::vector<PersistentStep> persistent_steps(const OverwritePattern& pattern) {
  return persistent_steps(programs_of(pattern), std::numeric_limits<std::uint64_t>::max());
}

std::vector<PersistentStep> persistent_steps(const Settings& settings,
                                             const StreamPattern& pattern) {
  Programs programs = programs_of(pattern, cpu::Config::from(settings), settings.count("seed"));
  return persistent_steps(std::move(programs), pattern.lines / pattern.threads);
}

}  // namespace nearfar::sim

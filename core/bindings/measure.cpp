#include "sim/machine/measure.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bindings/convert.h"
#include "sim/machine/pattern_programs.h"
#include "sim/persistence/program.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

nb::dict to_dict(const sim::Point& point) {
  nb::dict dict;
  dict["op"] = point.op;
  dict["elapsed_ps"] = point.elapsed.ps();
  dict["drain_ps"] = point.drain.ps();
  dict["lines"] = point.lines;
  dict["threads"] = point.threads;
  dict["p50_ps"] = point.latency.quantile(1, 2);
  dict["p99_ps"] = point.latency.quantile(99, 100);
  dict["p999_ps"] = point.latency.quantile(999, 1000);
  dict["max_ps"] = point.latency.max();
  dict["counters"] = bindings::to_dict(point.counters);
  return dict;
}

sim::cpu::FenceKind fence_kind(const std::string& name) {
  if (name == "mfence") return sim::cpu::FenceKind::mfence;
  if (name == "sfence") return sim::cpu::FenceKind::sfence;
  throw InputError("fence kind '" + name + "' is not known, expected mfence or sfence");
}

sim::AgentChoice agent_choice(const std::string& name, std::uint32_t outstanding) {
  if (name != "core" && name != "none") {
    throw InputError("agent '" + name + "' is not known, expected core or none");
  }
  return {.core = name == "core", .outstanding = outstanding};
}

/// Five words a step, as CrashProgram takes its operations: each line stored to is the store of one
/// word, whose value counts the lines stored to from 1 on.
nb::bytes crash_operations(const std::vector<sim::PersistentStep>& steps) {
  using Kind = sim::persistence::Kind;
  std::vector<std::uint64_t> words;
  std::uint64_t stores = 0;
  const auto add = [&](std::uint32_t thread, Kind kind, Address address, std::uint64_t value) {
    words.insert(words.end(),
                 {static_cast<std::uint64_t>(kind), thread, address.value(), value, 0});
  };
  for (const auto& [thread, step] : steps) {
    switch (step.kind) {
      case sim::cpu::Step::Kind::sfence:
        add(thread, Kind::sfence, {}, 0);
        break;
      case sim::cpu::Step::Kind::mfence:
        add(thread, Kind::mfence, {}, 0);
        break;
      case sim::cpu::Step::Kind::nt_store:
        add(thread, Kind::nt_store, step.address, ++stores);
        break;
      default:
        add(thread, Kind::store, step.address, ++stores);
        if (step.kind == sim::cpu::Step::Kind::store_clwb) {
          add(thread, Kind::clwb, step.address, 0);
        }
        break;
    }
  }
  return nb::bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
}

nb::list chase(const std::string& settings, Bytes region, Bytes block,
               const std::vector<std::string>& ops, const std::string& regions,
               const std::string& fence, const std::string& kind, std::uint32_t threads,
               std::uint64_t lines, std::uint64_t seed, std::uint64_t walk_lines,
               const std::string& agent, std::uint32_t outstanding) {
  sim::ChasePattern pattern;
  pattern.region = region;
  pattern.block = block;
  pattern.ops = ops;
  pattern.repeat = regions == "repeat";
  pattern.raw = ops.size() == 1 && ops.front() == "raw";
  if (pattern.raw) pattern.ops.clear();
  pattern.fence = fence_place<sim::cpu::FencePlace>(fence);
  pattern.fence_kind = fence_kind(kind);
  pattern.threads = threads;
  pattern.lines = lines;
  pattern.walk_lines = walk_lines;
  pattern.agent = agent_choice(agent, outstanding);
  nb::list points;
  for (const sim::Point& point :
       sim::measure(settings_of(settings, seed), pattern, raise_signals)) {
    points.append(to_dict(point));
  }
  return points;
}

nb::bytes chase_stores(const std::string& settings, Bytes region, Bytes block,
                       const std::string& op, const std::string& regions, const std::string& fence,
                       const std::string& kind, std::uint32_t threads, std::uint64_t lines,
                       std::uint64_t seed) {
  sim::ChasePattern pattern;
  pattern.region = region;
  pattern.block = block;
  pattern.raw = op == "raw";
  if (!pattern.raw) pattern.ops = {op};
  pattern.repeat = regions == "repeat";
  pattern.fence = fence_place<sim::cpu::FencePlace>(fence);
  pattern.fence_kind = fence_kind(kind);
  pattern.threads = threads;
  pattern.lines = lines;
  return crash_operations(sim::persistent_steps(settings_of(settings, seed), pattern));
}

sim::OverwritePattern overwrite_pattern(Bytes region, std::uint64_t writes, const std::string& op,
                                        const std::string& kind) {
  sim::OverwritePattern pattern;
  pattern.region = region;
  pattern.writes = writes;
  pattern.op = op;
  pattern.fence_kind = fence_kind(kind);
  return pattern;
}

nb::bytes overwrite_stores(Bytes region, std::uint64_t writes, const std::string& op,
                           const std::string& kind) {
  return crash_operations(sim::persistent_steps(overwrite_pattern(region, writes, op, kind)));
}

sim::StreamPattern stream_pattern(const std::string& op, Bytes access, Bytes stride,
                                  std::uint32_t threads, Bytes area, std::uint32_t reads_percent,
                                  Bytes fence_every, const std::string& fence,
                                  std::uint64_t lines) {
  sim::StreamPattern pattern;
  pattern.op = op;
  pattern.access = access;
  pattern.stride = stride;
  pattern.threads = threads;
  pattern.area = area;
  pattern.reads_percent = reads_percent;
  pattern.fence_every = fence_every;
  pattern.fence_kind = fence_kind(fence);
  pattern.lines = lines;
  return pattern;
}

nb::bytes stream_stores(const std::string& settings, const std::string& op, Bytes access,
                        Bytes stride, std::uint32_t threads, Bytes area,
                        std::uint32_t reads_percent, Bytes fence_every, const std::string& fence,
                        std::uint64_t lines, std::uint64_t seed) {
  return crash_operations(sim::persistent_steps(
      settings_of(settings, seed),
      stream_pattern(op, access, stride, threads, area, reads_percent, fence_every, fence, lines)));
}

nb::dict overwrite(const std::string& settings, Bytes region, std::uint64_t writes,
                   const std::string& op, const std::string& kind, std::uint64_t seed) {
  const sim::Point point = sim::measure(settings_of(settings, seed),
                                        overwrite_pattern(region, writes, op, kind), raise_signals);
  nb::dict dict = to_dict(point);
  nb::list samples;
  for (const Tick sample : point.samples) samples.append(sample.ps());
  dict["samples_ps"] = samples;
  return dict;
}

nb::dict stream(const std::string& settings, const std::string& op, Bytes access, Bytes stride,
                std::uint32_t threads, Bytes area, std::uint32_t reads_percent,
                std::uint32_t outstanding, Bytes fence_every, const std::string& fence,
                const std::string& agent, std::uint64_t lines, std::uint64_t seed) {
  sim::StreamPattern pattern =
      stream_pattern(op, access, stride, threads, area, reads_percent, fence_every, fence, lines);
  pattern.agent = agent_choice(agent, outstanding);
  return to_dict(sim::measure(settings_of(settings, seed), pattern, raise_signals));
}

nb::dict contention(const std::string& settings, const std::string& other, Bytes area,
                    std::uint64_t reads, std::uint64_t seed, std::uint32_t threads,
                    std::uint64_t delay_ps) {
  sim::ContentionPattern pattern;
  pattern.other = other;
  pattern.area = area;
  pattern.reads = reads;
  pattern.threads = threads;
  pattern.delay = Tick(delay_ps);
  const sim::Point point = sim::measure(settings_of(settings, seed), pattern, raise_signals);
  nb::dict dict = to_dict(point);
  dict["other_lines"] = point.other_lines;
  return dict;
}

}  // namespace

void bind_measure(nb::module_& module) {
  module.def("chase", chase, "settings"_a, nb::kw_only(), "region"_a, "block"_a, "ops"_a,
             "regions"_a, "fence"_a, "fence_kind"_a, "threads"_a, "lines"_a, "seed"_a,
             "walk_lines"_a = 0, "agent"_a = "core", "outstanding"_a = 0);
  module.def("chase_stores", chase_stores, "settings"_a, nb::kw_only(), "region"_a, "block"_a,
             "op"_a, "regions"_a, "fence"_a, "fence_kind"_a, "threads"_a, "lines"_a, "seed"_a);
  module.def("overwrite_stores", overwrite_stores, nb::kw_only(), "region"_a, "writes"_a, "op"_a,
             "fence_kind"_a);
  module.def("stream_stores", stream_stores, "settings"_a, nb::kw_only(), "op"_a, "access"_a,
             "stride"_a, "threads"_a, "area"_a, "reads_percent"_a, "fence_every"_a, "fence_kind"_a,
             "lines"_a, "seed"_a);
  module.def("overwrite", overwrite, "settings"_a, nb::kw_only(), "region"_a, "writes"_a, "op"_a,
             "fence_kind"_a, "seed"_a);
  module.def("stream", stream, "settings"_a, nb::kw_only(), "op"_a, "access"_a, "stride"_a,
             "threads"_a, "area"_a, "reads_percent"_a, "outstanding"_a, "fence_every"_a,
             "fence_kind"_a, "agent"_a, "lines"_a, "seed"_a);
  module.def("contention", contention, "settings"_a, nb::kw_only(), "other"_a, "area"_a, "reads"_a,
             "seed"_a, "threads"_a = 1, "delay_ps"_a = 0);
}

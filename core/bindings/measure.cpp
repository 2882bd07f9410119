#include "sim/machine/measure.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bindings/convert.h"
#include "bindings/fields.h"
#include "sim/machine/loaded.h"
#include "sim/machine/pattern_programs.h"
#include "sim/persistence/program.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace nearfar::bindings {

template <>
struct FieldReader<sim::cpu::FencePlace> {
  static sim::cpu::FencePlace read(nb::handle value) {
    return fence_place<sim::cpu::FencePlace>(nb::cast<std::string>(value));
  }
};

template <>
struct FieldReader<sim::cpu::FenceKind> {
  static sim::cpu::FenceKind read(nb::handle value) {
    const auto name = nb::cast<std::string>(value);
    if (name == "mfence") return sim::cpu::FenceKind::mfence;
    if (name == "sfence") return sim::cpu::FenceKind::sfence;
    throw InputError("fence kind '" + name + "' is not known, expected mfence or sfence");
  }
};

/// By the agent's name; how much it may have outstanding is a field of its own, read after it.
template <>
struct FieldReader<sim::AgentChoice> {
  static sim::AgentChoice read(nb::handle value) {
    const auto name = nb::cast<std::string>(value);
    if (name == "core") return {.core = true};
    if (name == "none") return {.core = false};
    throw InputError("agent '" + name + "' is not known, expected core or none");
  }
};

template <>
struct FieldReader<Tick> {
  static Tick read(nb::handle value) { return Tick(nb::cast<std::uint64_t>(value)); }
};

}  // namespace nearfar::bindings

namespace {

void add_quantiles(nb::dict& dict, const Histogram& latency) {
  dict["p50_ps"] = latency.quantile(1, 2);
  dict["p99_ps"] = latency.quantile(99, 100);
  dict["p999_ps"] = latency.quantile(999, 1000);
  dict["max_ps"] = latency.max();
}

nb::dict to_dict(const sim::Point& point) {
  nb::dict dict;
  dict["op"] = point.op;
  dict["elapsed_ps"] = point.elapsed.ps();
  dict["drain_ps"] = point.drain.ps();
  dict["lines"] = point.lines;
  dict["threads"] = point.threads;
  add_quantiles(dict, point.latency);
  dict["counters"] = bindings::to_dict(point.counters);
  return dict;
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

/// One point as a list, so that every pattern answers alike.
nb::list measured(const sim::Point& point, nb::dict&& dict) {
  if (!point.samples.empty()) {
    nb::list samples;
    for (const Tick sample : point.samples) samples.append(sample.ps());
    dict["samples_ps"] = samples;
  }
  nb::list points;
  points.append(dict);
  return points;
}

nb::list measure_chase(const std::string& settings, const sim::ChasePattern& pattern,
                       std::uint64_t seed) {
  nb::list points;
  for (const sim::Point& point :
       sim::measure(settings_of(settings, seed), pattern, raise_signals)) {
    points.append(to_dict(point));
  }
  return points;
}

template <typename Pattern>
nb::list measure(const std::string& settings, const Pattern& pattern, std::uint64_t seed) {
  const sim::Point point = sim::measure(settings_of(settings, seed), pattern, raise_signals);
  return measured(point, to_dict(point));
}

nb::list measure_contention(const std::string& settings, const sim::ContentionPattern& pattern,
                            std::uint64_t seed) {
  const sim::Point point = sim::measure(settings_of(settings, seed), pattern, raise_signals);
  nb::dict dict = to_dict(point);
  dict["other_lines"] = point.other_lines;
  return measured(point, std::move(dict));
}

nb::list measure_loaded(const std::string& settings, const sim::LoadedPattern& pattern,
                        std::uint64_t seed) {
  nb::list points;
  for (const sim::LoadedPoint& point :
       sim::measure(settings_of(settings, seed), pattern, raise_signals)) {
    nb::dict dict;
    dict["pause_ps"] = point.pause.ps();
    dict["elapsed_ps"] = point.elapsed.ps();
    add_quantiles(dict, point.latency);
    dict["counters"] = bindings::to_dict(point.counters);
    points.append(dict);
  }
  return points;
}

template <typename Pattern>
nb::bytes persistent_steps(const std::string& settings, const Pattern& pattern,
                           std::uint64_t seed) {
  return crash_operations(sim::persistent_steps(settings_of(settings, seed), pattern));
}

nb::bytes persistent_overwrites(const std::string& settings, const sim::OverwritePattern& pattern,
                                std::uint64_t seed) {
  static_cast<void>(settings_of(settings, seed));  // its steps do not depend on the machine
  return crash_operations(sim::persistent_steps(pattern));
}

}  // namespace

void bind_measure(nb::module_& module) {
  bind_fields<sim::ChasePattern>(module, "ChasePattern");
  bind_fields<sim::OverwritePattern>(module, "OverwritePattern");
  bind_fields<sim::StreamPattern>(module, "StreamPattern");
  bind_fields<sim::ContentionPattern>(module, "ContentionPattern");
  bind_fields<sim::LoadedPattern>(module, "LoadedPattern");
  const auto def = [&](const char* name, auto function) {
    module.def(name, function, "settings"_a, "pattern"_a, nb::kw_only(), "seed"_a);
  };
  def("measure", measure_chase);
  def("measure", measure<sim::OverwritePattern>);
  def("measure", measure<sim::StreamPattern>);
  def("measure", measure_contention);
  def("measure", measure_loaded);
  def("persistent_steps", persistent_steps<sim::ChasePattern>);
  def("persistent_steps", persistent_overwrites);
  def("persistent_steps", persistent_steps<sim::StreamPattern>);
}

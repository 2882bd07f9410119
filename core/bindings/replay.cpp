#include "sim/machine/replay.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "bindings/convert.h"
#include "sim/machine/build.h"
#include "sim/machine/command_trace.h"
#include "sim/machine/tiers.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

/// Empty for "": what the trace asks for.
std::optional<sim::Frames> frames_named(const std::string& name) {
  if (name == "first-touch") return sim::Frames::first_touch;
  if (name == "fold") return sim::Frames::fold;
  if (name == "refuse") return sim::Frames::as_is;
  return std::nullopt;
}

/// A machine, its command trace if wanted, and the replay that drives it.
class BoundReplay {
 public:
  BoundReplay(const std::string& settings, const std::string& name, const std::string& format,
              std::uint32_t base, const std::string& pace, std::uint32_t outstanding,
              std::uint64_t clock_ps, bool trace_clock, std::uint64_t skip, std::uint64_t warm,
              std::uint64_t run, const std::string& frames, bool drain,
              const nb::bytes& command_trace) {
    const Settings model = Settings::parse(settings);
    if (command_trace.size() != 0)
      commands_.emplace(std::string(command_trace.c_str(), command_trace.size()));
    sim::dram::CommandLog* log = nullptr;
    sim::dram::CommandLog* near_log = nullptr;
    if (commands_) {
      log = &commands_->log_for(model.name("machine"));
      near_log = &commands_->log_for("near");
    }
    const bool tiers = model.has("near.kind") && model.name("near.kind") == "tier";
    memory_ = tiers ? sim::Tiers::build(model, log, near_log) : sim::build(model, log, near_log);
    sim::Replay::Options options;
    options.pace = pace == "asap" ? sim::Pace::asap : sim::Pace::trace;
    options.outstanding = outstanding;
    options.clock = Tick(clock_ps);
    options.trace_clock = trace_clock;
    options.window = {.skip = skip, .warm = warm, .run = run};
    options.frames = frames_named(frames);
    options.drain = drain;
    replay_.emplace(*memory_, trace::make_reader(name, format, base), options);
  }

  void feed(const nb::bytes& data) {
    replay_->feed({data.c_str(), data.size()});
    raise_signals();
  }

  [[nodiscard]] bool done() const { return replay_->done(); }

  [[nodiscard]] bool is_beyond_memory() const { return replay_->is_beyond_memory(); }

  [[nodiscard]] std::string format() const { return std::string(replay_->format_name()); }

  nb::dict finish() {
    const sim::ReplayResult result = replay_->finish();
    if (commands_) commands_->close();
    nb::dict dict;
    dict["requests"] = result.requests;
    dict["reads"] = result.reads;
    dict["writes"] = result.writes;
    dict["fences"] = result.fences;
    dict["elapsed_ps"] = result.elapsed.ps();
    dict["gb_per_s"] = result.gb_per_s();
    if (const auto& read = result.read_latency) {
      dict["p50_ps"] = read->p50.ps();
      dict["p99_ps"] = read->p99.ps();
      dict["p999_ps"] = read->p999.ps();
      dict["max_ps"] = read->max.ps();
      dict["p90_ps"] = read->p90.ps();
      dict["mean_ps"] = read->mean_ps;
      dict["ranges_ps"] = read->ranges;
    }
    const sim::Traffic::Series& traffic = result.traffic;
    dict["bucket_ps"] = traffic.width().ps();
    dict["moved"] = traffic.buckets();
    if (const auto& late = result.late) {
      dict["late"] = late->requests;
      dict["late_max_ps"] = late->longest.ps();
    }
    dict["format"] = format();
    dict["counters"] = bindings::to_dict(result.counters);
    return dict;
  }

 private:
  std::optional<sim::CommandTrace> commands_;
  std::unique_ptr<sim::Device> memory_;
  std::optional<sim::Replay> replay_;
};

}  // namespace

void bind_replay(nb::module_& module) {
  nb::class_<BoundReplay>(module, "Replay")
      .def(nb::init<const std::string&, const std::string&, const std::string&, std::uint32_t,
                    const std::string&, std::uint32_t, std::uint64_t, bool, std::uint64_t,
                    std::uint64_t, std::uint64_t, const std::string&, bool, const nb::bytes&>(),
           "settings"_a, nb::kw_only(), "name"_a, "format"_a, "base"_a, "pace"_a, "outstanding"_a,
           "clock_ps"_a, "trace_clock"_a, "skip"_a, "warm"_a, "run"_a, "frames"_a, "drain"_a,
           "command_trace"_a)
      .def("is_beyond_memory", &BoundReplay::is_beyond_memory)
      .def("feed", &BoundReplay::feed, "data"_a)
      .def("done", &BoundReplay::done)
      .def("format", &BoundReplay::format)
      .def("finish", &BoundReplay::finish);
}

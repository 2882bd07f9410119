#include "sim/machine/replay.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

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

/// A machine, its command trace if wanted, and the replay that drives it.
class BoundReplay {
 public:
  BoundReplay(const std::string& settings, const std::string& name, const std::string& format,
              const std::string& pace, std::uint32_t outstanding, std::uint64_t clock_ps,
              bool trace_clock, std::uint64_t skip, std::uint64_t warm, std::uint64_t run,
              const std::string& command_trace) {
    const Settings model = Settings::parse(settings);
    if (!command_trace.empty()) commands_.emplace(command_trace);
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
    replay_.emplace(*memory_, trace::make_reader(name, format), options);
  }

  void feed(const nb::bytes& data) {
    replay_->feed({data.c_str(), data.size()});
    raise_signals();
  }

  [[nodiscard]] bool done() const { return replay_->done(); }

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
    dict["p50_ps"] = result.read_p50.ps();
    dict["p99_ps"] = result.read_p99.ps();
    dict["p999_ps"] = result.read_p999.ps();
    dict["max_ps"] = result.read_max.ps();
    dict["late"] = result.late;
    dict["late_max_ps"] = result.late_max.ps();
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
      .def(nb::init<const std::string&, const std::string&, const std::string&, const std::string&,
                    std::uint32_t, std::uint64_t, bool, std::uint64_t, std::uint64_t, std::uint64_t,
                    const std::string&>(),
           "settings"_a, nb::kw_only(), "name"_a, "format"_a, "pace"_a, "outstanding"_a,
           "clock_ps"_a, "trace_clock"_a, "skip"_a, "warm"_a, "run"_a, "command_trace"_a)
      .def("feed", &BoundReplay::feed, "data"_a)
      .def("done", &BoundReplay::done)
      .def("format", &BoundReplay::format)
      .def("finish", &BoundReplay::finish);
}

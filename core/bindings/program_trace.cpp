#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "base/settings.h"
#include "bindings/convert.h"
#include "frontend/program_trace_reader.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::bindings;

namespace {

using frontend::Engine;
using frontend::ProgramEvent;
using frontend::ProgramTraceReader;

/// The machine that the trace is played on: that of the settings, with pages laid out as in the
/// trace; without settings none, and what the trace holds is counted.
ProgramTraceReader::MakeEngine engine_of(const std::string& settings, std::uint64_t period_ps) {
  const Tick period(period_ps);
  if (settings.empty()) {
    return [](const trace::Header& header) {
      return frontend::make_counting_engine(Tick(header.timing.clock_ps), Tick{});
    };
  }
  return [model = Settings::parse(settings), period](const trace::Header& header) {
    Settings used = model;
    const trace::Layout& layout = header.layout;
    if (!layout.place.empty()) used.set("run.place", layout.place);
    if (!layout.pages.empty()) used.set("run.pages", layout.pages);
    if (layout.near_bytes != 0) used.set("run.near", std::to_string(layout.near_bytes));
    return frontend::make_program_engine(used, period, nullptr);
  };
}

class BoundProgramTrace {
 public:
  BoundProgramTrace(const std::string& settings, const std::string& name, std::uint64_t period_ps)
      : reader_(name, engine_of(settings, period_ps)) {}

  void feed(const nb::bytes& data) {
    in_pieces(data, [this](std::string_view piece) { reader_.feed(piece); });
  }

  void finish() { reader_.finish(); }

  /// What exact_end() asks.
  [[nodiscard]] std::string format() const { return "nearfar"; }
  [[nodiscard]] nb::object header() const { return text_of(reader_.header()); }

  /// What the machine has counted, one `name = value` a line.
  std::string report() {
    std::ostringstream out;
    if (Engine* const engine = reader_.engine()) engine->report(out);
    return out.str();
  }

  [[nodiscard]] nb::dict counts() const {
    const ProgramTraceReader::Counts& counts = reader_.counts();
    nb::dict dict;
    dict["events"] = counts.all_events();
    dict["instructions"] = counts.instructions;
    dict["loads"] = counts.loads;
    dict["stores"] = counts.stores;
    dict["marked_loads"] = counts.marked_loads;
    dict["blocks"] = counts.of(ProgramEvent::block);
    dict["blocks_executed"] = counts.of(ProgramEvent::run);
    dict["threads"] = counts.of(ProgramEvent::begins);
    dict["maps"] = counts.of(ProgramEvent::maps);
    dict["unmaps"] = counts.of(ProgramEvent::unmaps);
    dict["remaps"] = counts.of(ProgramEvent::remaps);
    dict["frames"] = counts.of(ProgramEvent::frame);
    dict["frames_as_recorded"] = counts.frames_as_recorded;
    return dict;
  }

 private:
  ProgramTraceReader reader_;
};

}  // namespace

void bind_program_trace(nb::module_& module) {
  nb::class_<BoundProgramTrace>(module, "ProgramTrace")
      .def(nb::init<const std::string&, const std::string&, std::uint64_t>(), nb::kw_only(),
           "settings"_a, "name"_a, "period_ps"_a)
      .def("feed", &BoundProgramTrace::feed, "data"_a)
      .def("finish", &BoundProgramTrace::finish)
      .def("format", &BoundProgramTrace::format)
      .def("header", &BoundProgramTrace::header)
      .def("report", &BoundProgramTrace::report)
      .def("counts", &BoundProgramTrace::counts);
}

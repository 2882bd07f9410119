#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "tier/swap/monitor.h"

namespace nb = nanobind;
using namespace nb::literals;
using nearfar::tier::swap::Counts;
using nearfar::tier::swap::Monitor;

namespace {

nb::dict counts_of(const Monitor& monitor) {
  const Counts counts = monitor.counts();
  nb::dict dict;
  dict["near"] = counts.near;
  dict["near_peak"] = counts.near_peak;
  dict["swapped"] = counts.swapped;
  dict["swapped_peak"] = counts.swapped_peak;
  dict["faults"] = counts.faults;
  dict["page_ins_seen"] = counts.seen.page_ins;
  dict["first_touches_seen"] = counts.seen.first_touches;
  dict["evictions_asked"] = counts.evictions_asked;
  dict["evictions"] = counts.evictions;
  dict["refused"] = counts.refused;
  dict["kernel_evictions"] = counts.seen.kernel_evictions;
  dict["looks"] = counts.looks;
  dict["processes"] = counts.processes;
  dict["processes_peak"] = counts.processes_peak;
  dict["watching_ns"] = counts.watching_ns;
  dict["evicting_ns"] = counts.evicting_ns;
  dict["elapsed_ns"] = counts.elapsed_ns;
  return dict;
}

}  // namespace

void bind_swap(nb::module_& module) {
  module.def("swap_can_look", &nearfar::tier::swap::os::can_look);
  nb::class_<Monitor>(module, "SwapMonitor")
      .def(
          "__init__",
          [](Monitor* monitor, const std::string& policy, std::uint64_t limit_pages,
             const std::string& group, bool unified, int launcher, int program) {
            new (monitor) Monitor({policy, limit_pages, group, unified, launcher, program});
          },
          nb::kw_only(), "policy"_a, "limit_pages"_a, "group"_a, "unified"_a, "launcher"_a,
          "program"_a)
      .def("set_limit", &Monitor::set_limit, "pages"_a)
      .def("limit", &Monitor::limit)
      .def("counts", &counts_of)
      .def("stop", &Monitor::stop, nb::call_guard<nb::gil_scoped_release>());
}

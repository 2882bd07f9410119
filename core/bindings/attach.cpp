#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tier/attach/manager.h"

namespace nb = nanobind;
using namespace nb::literals;
using nearfar::tier::attach::Area;
using nearfar::tier::attach::Counts;
using nearfar::tier::attach::Limit;
using nearfar::tier::attach::Manager;

namespace {

using Areas = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// Those that are pages the tier's counts have by these names, too.
nb::dict counts_of(const Manager& manager) {
  const Counts counts = manager.counts();
  nb::dict dict;
  dict["near"] = counts.near;
  dict["near_peak"] = counts.near_peak;
  dict["far"] = counts.far;
  dict["far_peak"] = counts.far_peak;
  dict["managed_peak"] = counts.managed_peak;
  dict["first_touches"] = counts.first_touches;
  dict["promoted"] = counts.promoted;
  dict["demoted"] = counts.demoted;
  dict["refused"] = counts.refused;
  dict["scanned"] = counts.scanned;
  dict["found_used"] = counts.found_used;
  dict["decisions"] = counts.decisions;
  dict["lost_events"] = counts.lost_events;
  dict["detector_ns"] = counts.detector_ns;
  dict["mover_ns"] = counts.mover_ns;
  return dict;
}

void make(Manager* manager, int process, const Areas& only, const std::string& policy,
          std::pair<int, int> nodes, std::uint64_t interval_ns, std::uint32_t pairs,
          std::pair<std::uint64_t, std::uint64_t> limit, bool watches_reads) {
  Manager::Options options{.process = process,
                           .watches_reads = watches_reads,
                           .placing = {.policy = policy,
                                       .nodes = {nodes.first, nodes.second},
                                       .interval_ns = interval_ns,
                                       .pairs = pairs},
                           .limit = {limit.first, limit.second}};
  for (const auto& [begin, end] : only) options.only.push_back(Area{begin, end});
  new (manager) Manager(std::move(options));
}

}  // namespace

void bind_attach(nb::module_& module) {
  module.def("attach_can_find_written", &nearfar::tier::attach::can_find_written);
  nb::class_<Manager>(module, "AttachManager")
      .def("__init__", &make, nb::kw_only(), "process"_a, "only"_a, "policy"_a, "nodes"_a,
           "interval_ns"_a, "pairs"_a, "limit"_a, "watches_reads"_a)
      .def(
          "set_limit",
          [](Manager& manager, std::uint64_t pages, std::uint64_t share) {
            manager.set_limit(Limit{pages, share});
          },
          "pages"_a, "share"_a)
      .def("limit",
           [](const Manager& manager) {
             const Limit limit = manager.limit();
             return std::pair(limit.pages, limit.share);
           })
      .def("pause", &Manager::pause, "paused"_a)
      .def("is_paused", &Manager::is_paused)
      .def("counts", &counts_of)
      .def("has_ended", &Manager::has_ended)
      .def("is_settled", &Manager::is_settled)
      .def("stop", &Manager::stop, nb::call_guard<nb::gil_scoped_release>());
}

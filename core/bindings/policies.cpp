// The lists that Python reads from the core: names of policies by family, and kinds of machines.

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <string_view>

#include "policy/registry.h"
#include "sim/machine/machine.h"

namespace nb = nanobind;
using namespace nearfar;

namespace {

template <typename Entry>
nb::tuple names(std::span<const Entry> family) {
  nb::list found;
  for (const Entry& entry : family) found.append(std::string(entry.name));
  return nb::tuple(found);
}

}  // namespace

void bind_policies(nb::module_& module) {
  module.def("replacement_policies", [] { return names(policy::replacements()); });
  module.def("placement_policies", [] { return names(policy::placements()); });
  module.def("machine_kinds", [] {
    nb::list kinds;
    for (const std::string_view kind : sim::Machine::kinds()) kinds.append(std::string(kind));
    return nb::tuple(kinds);
  });
  module.def("oracles", [] { return names(policy::oracles()); });
}

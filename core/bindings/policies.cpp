#include <nanobind/nanobind.h>

#include <span>
#include <string>

#include "policy/registry.h"

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
  module.def("oracles", [] { return names(policy::oracles()); });
}

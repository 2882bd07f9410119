#include <array>

#include "trace/format.h"

namespace nearfar::trace {

std::span<const Format* const> formats() {
  static constexpr std::array<const Format*, 5> all = {&ramulator, &ramulator_cpu, &dramsim3, &vans,
                                                       &lackey};
  return all;
}

const Format* find_format(std::string_view name) {
  for (const Format* format : formats()) {
    if (format->name == name) return format;
  }
  return nullptr;
}

}  // namespace nearfar::trace

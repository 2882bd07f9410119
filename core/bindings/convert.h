#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "base/settings.h"

namespace nearfar::bindings {

namespace nb = nanobind;

inline nb::dict to_dict(const std::vector<Counters::Reading>& readings) {
  nb::dict dict;
  for (const auto& [name, value] : readings) dict[name.c_str()] = value;
  return dict;
}

/// The settings of a run: the exported model, with the run's own seed.
inline Settings settings_of(const std::string& text, std::uint64_t seed) {
  Settings settings = Settings::parse(text);
  settings.set("seed", std::to_string(seed));
  return settings;
}

/// Where fences stand, as a pattern names it, for the simulated and for the real machine alike.
template <typename Place>
Place fence_place(const std::string& name) {
  if (name == "region") return Place::region;
  if (name == "block") return Place::block;
  if (name == "none") return Place::none;
  throw InputError("fence: unknown '" + name + "', expected region, block or none");
}

/// Lets a waiting signal (Ctrl-C) be raised; called now and then from a long run.
inline void raise_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace nearfar::bindings

#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/counters.h"
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

/// Lets a waiting signal (Ctrl-C) be raised; called now and then from a long run.
inline void raise_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace nearfar::bindings

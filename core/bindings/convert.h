#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// Bytes that are no UTF-8 as \xNN: a file may hold any.
inline nb::object text_of(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                        "backslashreplace"));
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

/// Gives `take` the data in pieces, which bounds the memory that what they hold takes, and lets
/// waiting signals be raised in between.
template <typename Take>
void in_pieces(const nb::bytes& data, Take take) {
  constexpr std::size_t piece_bytes = 64 * 1024;
  std::string_view rest(data.c_str(), data.size());
  while (!rest.empty()) {
    const std::string_view piece = rest.substr(0, piece_bytes);
    rest.remove_prefix(piece.size());
    take(piece);
    raise_signals();
  }
}

}  // namespace nearfar::bindings

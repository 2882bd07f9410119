#pragma once

#include <string>

namespace nearfar::library {

/// The text of a model: of the file `name`, or, where there is none, of the preset of that name
/// ("model:" may stand before it) that is installed beside the library. Throws std::runtime_error,
/// with one line that says what was looked for.
[[nodiscard]] std::string read_model(const std::string& name);

}  // namespace nearfar::library

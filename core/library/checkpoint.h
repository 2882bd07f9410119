#pragma once

#include <string>
#include <string_view>

#include "library/memory.h"
#include "library/model.h"

namespace nearfar::library {

/// The state of `memory`, which was made from `model`, behind a line that names the model, the
/// version of nearfar and a checksum.
[[nodiscard]] std::string save(Memory& memory, const Model& model, std::string_view version);

/// A memory that goes on as the one that was saved: with the same calls it gives the same, bit for
/// bit. Throws InputError when `saved` is damaged, of another version or of another model.
[[nodiscard]] Memory restore(const Model& model, std::string_view version, std::string_view saved);

}  // namespace nearfar::library

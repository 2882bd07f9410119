#pragma once

#include <string>
#include <string_view>

#include "library/memory.h"
#include "library/model.h"

namespace nearfar::library {

/// What a host's run did to `memory`, as JSON in the form of `nearfar replay --json`, so that
/// `nearfar compare` puts the two side by side. Latencies, which the host measures, are left out.
[[nodiscard]] std::string statistics(Memory& memory, const Model& model, std::string_view version);

}  // namespace nearfar::library

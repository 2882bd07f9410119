#pragma once

#include <string>
#include <string_view>

namespace nearfar {

/// SHA-256 (FIPS 180-4) of `bytes`, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace nearfar

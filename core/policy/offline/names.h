#pragma once

#include <span>
#include <string_view>

namespace nearfar::policy {

/// Throws InputError "WHAT: found 'NAME', expected one of ...; did you mean ...?".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name,
                              std::span<const std::string_view> known);

}  // namespace nearfar::policy

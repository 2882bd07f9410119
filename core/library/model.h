#pragma once

#include <string>
#include <string_view>

#include "base/settings.h"

namespace nearfar::library {

/// A model as `nearfar model export` writes it: the settings, behind a comment that names the model
/// and the version that wrote it.
struct Model {
  /// Throws InputError when the text is no exported model, or one of another version than
  /// `version`. A text without the comment is taken as it is, and has no name.
  [[nodiscard]] static Model parse(std::string_view text, std::string_view version);

  Settings settings;
  std::string name = "unnamed";
  /// SHA-256 of all lines that are settings, as results carry it (`target.model_hash`).
  std::string hash;
};

}  // namespace nearfar::library

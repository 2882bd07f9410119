#include "library/abi/presets.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace nearfar::library {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view ending = ".model";

/// Only its address matters: it tells where the library has been loaded from.
const char here = 0;

/// Beside the library (in the package), or in share/ of the prefix below which it lies.
fs::path presets_folder() {
  if (const char* named = std::getenv("NEARFAR_MODELS")) return named;
  Dl_info found{};
  if (dladdr(&here, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code error;
  fs::path folder = fs::weakly_canonical(found.dli_fname, error).parent_path();
  if (fs::is_directory(folder / "models", error)) return folder / "models";
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    const fs::path shared = folder / "share" / "nearfar" / "models";
    if (fs::is_directory(shared, error)) return shared;
  }
  return {};
}

std::optional<std::string> text_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty()) return std::nullopt;
  return text;
}

std::string names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ending) names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

std::string read_model(const std::string& name) {
  if (const auto text = text_of(name)) return *text;
  constexpr std::string_view prefix = "model:";
  const std::string bare = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  const fs::path folder = presets_folder();
  const bool may_be_preset = !bare.empty() && bare.find('/') == std::string::npos;
  if (may_be_preset && !folder.empty()) {
    if (const auto text = text_of(folder / (bare + std::string(ending)))) return *text;
  }
  std::string line = name +
                     ": cannot be read or is empty, expected a model that `nearfar model "
                     "export NAME -o FILE` wrote";
  if (may_be_preset && !folder.empty()) line += ", or one of " + names_in(folder);
  throw std::runtime_error(line);
}

}  // namespace nearfar::library

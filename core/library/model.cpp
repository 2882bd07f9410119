#include "library/model.h"

#include <cstddef>

#include "base/error.h"
#include "base/sha256.h"

namespace nearfar::library {
namespace {

/// Before the version and, behind a blank, the name.
constexpr std::string_view mark = "# nearfar ";

void read_mark(std::string_view line, std::string_view version, std::string& name) {
  line.remove_prefix(mark.size());
  const std::size_t blank = line.find(' ');
  const std::string_view wrote = line.substr(0, blank);
  if (blank == std::string_view::npos || wrote != version) {
    throw InputError("model: was exported by nearfar " + std::string(wrote) + ", expected " +
                     std::string(version) + ", the library's own version; export it again");
  }
  name = line.substr(blank + 1);
}

}  // namespace

Model Model::parse(std::string_view text, std::string_view version) {
  Model model;
  std::string settings;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    // A file that went through another system may end its lines so; it is the same model.
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(mark)) read_mark(line, version, model.name);
    if (!line.empty() && line.front() != '#') settings.append(line) += '\n';
  }
  model.settings = Settings::parse(text);
  model.hash = "sha256:" + sha256(settings);
  return model;
}

}  // namespace nearfar::library

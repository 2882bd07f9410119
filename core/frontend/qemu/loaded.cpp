#include "frontend/qemu/loaded.h"

#include <sstream>
#include <string>

namespace nearfar::frontend::qemu {

std::vector<Loaded> loaded_ranges(std::istream& maps) {
  std::vector<Loaded> found;
  std::uint64_t last_end = 0;
  Mapping next = Mapping::memory;  // what memory without a name would be that follows at once
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::string rights;
    std::string offset;
    std::string device;
    std::string inode;
    std::string path;
    if (!(fields >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode)) {
      continue;
    }
    fields >> path;
    if (begin != last_end) next = Mapping::memory;
    if (path.starts_with('/')) next = Mapping::file;
    const bool guard = rights.starts_with("---");
    if (!guard) found.push_back({.begin = Address(begin), .bytes = end - begin, .kind = next});
    if (guard && path.empty()) next = Mapping::stack;
    last_end = end;
  }
  return found;
}

}  // namespace nearfar::frontend::qemu

#include "frontend/qemu/touched_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace nearfar::frontend::qemu {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t most_bytes = std::uint64_t{16} << 30;

// Linux, Documentation/admin-guide/mm/pagemap.rst: a page is in memory, or in swap.
constexpr std::uint64_t there = std::uint64_t{3} << 62;

}  // namespace

void each_touched_page(std::uint64_t begin, std::uint64_t end,
                       const std::function<void(std::uint64_t page)>& take) {
  if (end - begin > most_bytes) return;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::array<std::uint64_t, 4096> entries{};
  for (std::uint64_t page = begin / page_bytes; page < end / page_bytes;) {
    const std::uint64_t wanted = std::min<std::uint64_t>(entries.size(), end / page_bytes - page);
    const ssize_t found = pread(file, entries.data(), wanted * sizeof entries[0],
                                static_cast<off_t>(page * sizeof entries[0]));
    if (found <= 0) break;
    const std::size_t count = static_cast<std::size_t>(found) / sizeof entries[0];
    for (std::size_t i = 0; i < count; ++i) {
      if ((entries[i] & there) != 0) take((page + i) * page_bytes);
    }
    page += std::max<std::size_t>(count, 1);
  }
  close(file);
}

}  // namespace nearfar::frontend::qemu

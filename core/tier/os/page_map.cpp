#include "tier/os/page_map.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>

namespace nearfar::tier::os {
namespace {

// Linux 6.7 has these; the headers of Debian 12 do not.
struct Region {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t categories;
};
struct ScanRequest {
  std::uint64_t size;
  std::uint64_t flags;
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t walked_to;
  std::uint64_t regions;
  std::uint64_t most_regions;
  std::uint64_t most_pages;
  std::uint64_t inverted;
  std::uint64_t all_of;
  std::uint64_t any_of;
  std::uint64_t told;
};
constexpr std::uint64_t is_present = 1U << 3U;
constexpr std::uint64_t is_swapped = 1U << 4U;
constexpr std::uint64_t is_zeros = 1U << 5U;
constexpr std::uint64_t is_huge = 1U << 6U;

constexpr std::size_t at_once = 64;

std::size_t find_by_mincore(Place& from, Place end, std::span<PageMap::Run> runs) noexcept {
  std::size_t count = 0;
  while (from < end && count < runs.size()) {
    unsigned char resident[at_once] = {};
    const std::size_t pages = std::min(at_once, (end - from) / page_bytes);
    call(__NR_mincore, word(from), word(pages * page_bytes), word(resident));
    std::size_t i = 0;
    for (; i < pages && count < runs.size(); ++i) {
      if ((resident[i] & 1U) == 0) continue;
      const Place at = from + i * page_bytes;
      if (count > 0 && runs[count - 1].end == at) {
        runs[count - 1].end += page_bytes;
      } else {
        runs[count++] = {.begin = at, .end = at + page_bytes, .huge = false};
      }
    }
    from += i * page_bytes;
  }
  return count;
}

}  // namespace

std::uint32_t PageMap::request() noexcept { return _IOWR('f', 16, ScanRequest); }

void PageMap::open() noexcept {
  const long file = call(__NR_openat, AT_FDCWD, word("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC);
  descriptor_ = file < 0 ? -1 : hide(static_cast<int>(file));
}

void PageMap::close() noexcept {
  if (descriptor_ >= 0) call(__NR_close, descriptor_);
  descriptor_ = -1;
}

bool PageMap::present(Place at) const noexcept {
  Run run{};
  return find(at, at + page_bytes, {&run, 1}) == 1;
}

std::size_t PageMap::find(Place& from, Place end, std::span<Run> runs) const noexcept {
  Region regions[at_once];
  ScanRequest request{};
  request.size = sizeof request;
  request.begin = from;
  request.end = end;
  request.regions = place(regions);
  request.most_regions = std::min(at_once, runs.size());
  request.any_of = is_present | is_swapped;
  request.told = is_huge | is_zeros;
  const long found = descriptor_ < 0 ? -EBADF
                                     : call(__NR_ioctl, descriptor_,
                                            static_cast<long>(PageMap::request()), word(&request));
  if (found < 0) return find_by_mincore(from, end, runs);
  for (long i = 0; i < found; ++i) {
    const bool huge = (regions[i].categories & (is_huge | is_zeros)) == is_huge;
    runs[static_cast<std::size_t>(i)] = {
        .begin = regions[i].begin, .end = regions[i].end, .huge = huge};
  }
  from = request.walked_to;
  return static_cast<std::size_t>(found);
}

}  // namespace nearfar::tier::os

#include "tier/os/page_map.h"

#include <fcntl.h>

#include <algorithm>

#include "tier/os/page_scan.h"

namespace nearfar::tier::os {
namespace {

constexpr std::size_t at_once = 64;

/// What the kernel has to say of memory, and how far it has looked; how many. -errno on failure.
long scan(int descriptor, Place from, Place end, std::span<ScannedRegion> regions,
          Place& walked_to) noexcept {
  PageScan request{};
  request.size = sizeof request;
  request.begin = from;
  request.end = end;
  request.regions = place(regions.data());
  request.most_regions = regions.size();
  request.any_of = page_is_present | page_is_swapped;
  request.told = page_is_huge | page_is_zero;
  const long found = call(__NR_ioctl, descriptor, page_scan_request, word(&request));
  walked_to = request.walked_to;
  return found;
}

/// Before Linux 6.7, or where the page map could not be opened: which of so many pages from
/// `at` on are there.
void look_at(int map, Place at, std::span<bool> there) noexcept {
  constexpr std::uint64_t present_or_swapped = 3ULL << 62U;
  std::uint64_t entries[at_once] = {};
  const std::size_t bytes = there.size() * sizeof entries[0];
  const std::size_t from = at / page_bytes * sizeof entries[0];
  if (map >= 0 &&
      call(__NR_pread64, map, word(entries), word(bytes), word(from)) == static_cast<long>(bytes)) {
    for (std::size_t i = 0; i < there.size(); ++i)
      there[i] = (entries[i] & present_or_swapped) != 0;
    return;
  }
  unsigned char resident[at_once] = {};
  call(__NR_mincore, word(at), word(there.size() * page_bytes), word(resident));
  for (std::size_t i = 0; i < there.size(); ++i) there[i] = (resident[i] & 1U) != 0;
}

}  // namespace

std::size_t find_page_by_page(int map, Place& from, Place end,
                              std::span<PageMap::Run> runs) noexcept {
  std::size_t count = 0;
  while (from < end && count < runs.size()) {
    bool there[at_once];
    const std::size_t pages = std::min(at_once, (end - from) / page_bytes);
    look_at(map, from, {there, pages});
    std::size_t i = 0;
    for (; i < pages && count < runs.size(); ++i) {
      if (!there[i]) continue;
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

std::uint32_t PageMap::request() noexcept { return static_cast<std::uint32_t>(page_scan_request); }

void PageMap::open() noexcept {
  const long file = call(__NR_openat, AT_FDCWD, word("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC);
  descriptor_ = file < 0 ? -1 : hide(static_cast<int>(file));
  ScannedRegion own{};
  Place walked_to = place(&own) / page_bytes * page_bytes;
  tells_huge_ = descriptor_ >= 0 &&
                scan(descriptor_, walked_to, walked_to + page_bytes, {&own, 1}, walked_to) == 1;
}

void PageMap::close() noexcept {
  if (descriptor_ >= 0) call(__NR_close, descriptor_);
  descriptor_ = -1;
  tells_huge_ = false;
}

bool PageMap::present(Place at) const noexcept {
  Run run{};
  return find(at, at + page_bytes, {&run, 1}) == 1;
}

std::size_t PageMap::find(Place& from, Place end, std::span<Run> runs) const noexcept {
  ScannedRegion regions[at_once];
  Place walked_to = from;
  const std::size_t most = std::min(at_once, runs.size());
  const long found = tells_huge_ ? scan(descriptor_, from, end, {regions, most}, walked_to) : -1;
  if (found < 0) return find_page_by_page(descriptor_, from, end, runs);
  for (long i = 0; i < found; ++i) {
    const bool huge = (regions[i].categories & (page_is_huge | page_is_zero)) == page_is_huge;
    runs[static_cast<std::size_t>(i)] = {
        .begin = regions[i].begin, .end = regions[i].end, .huge = huge};
  }
  from = walked_to;
  return static_cast<std::size_t>(found);
}

std::size_t PageMap::find_used(Place& from, Place end, std::span<Run> runs, std::uint64_t flags,
                               std::uint64_t category) const noexcept {
  ScannedRegion regions[at_once];
  PageScan request{};
  request.size = sizeof request;
  request.flags = flags;
  request.begin = from;
  request.end = end;
  request.regions = place(&regions[0]);
  request.most_regions = std::min(at_once, runs.size());
  request.all_of = category | (category == page_is_written ? page_is_present : 0);
  request.told = category;
  const long found = call(__NR_ioctl, descriptor_, page_scan_request, word(&request));
  if (found < 0) {
    from = end;
    return 0;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i)
    runs[i] = {.begin = regions[i].begin, .end = regions[i].end, .huge = false};
  from = request.walked_to;
  return static_cast<std::size_t>(found);
}

std::size_t PageMap::find_written(Place& from, Place end, std::span<Run> runs) const noexcept {
  return find_used(from, end, runs, note_writes_anew, page_is_written);
}

std::size_t PageMap::find_accessed(Place& from, Place end, std::span<Run> runs) const noexcept {
  return find_used(from, end, runs, 0, page_is_accessed);
}

std::size_t PageMap::find_zeros(Place& from, Place end, std::span<Run> runs) const noexcept {
  return find_used(from, end, runs, 0, page_is_zero);
}

}  // namespace nearfar::tier::os

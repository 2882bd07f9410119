#include "tier/attach/os/target.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "tier/os/page_scan.h"

namespace nearfar::tier::attach {
namespace {

using os::call;
using os::word;

constexpr int move_own = 1 << 1;  // MPOL_MF_MOVE
constexpr int move_all = 1 << 2;  // MPOL_MF_MOVE_ALL, for those with CAP_SYS_NICE

/// The word at the front of a line, which is taken off.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

template <typename Do>
void for_each_line(std::string_view text, Do&& act) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    act(line);
  }
}

/// One line of maps: 7f12a000-7f12b000 rw-p 00000000 00:00 0   [heap]
bool can_be_managed(std::string_view line, Area& area) {
  const std::string_view range = take_word(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return false;
  std::from_chars(range.data(), range.data() + dash, area.begin, 16);
  std::from_chars(range.data() + dash + 1, range.data() + range.size(), area.end, 16);
  const std::string_view rights = take_word(line);
  take_word(line);  // the offset
  take_word(line);  // the device
  const bool has_file = take_word(line) != "0";
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (rights.size() < 4 || rights[0] != 'r' || rights[2] == 'x') return false;
  const auto begins = [&](std::string_view with) { return line.starts_with(with); };
  if (begins("[v")) return false;  // vdso, vvar, vsyscall
  if (begins("/dev/") && !begins("/dev/shm/") && !begins("/dev/zero")) return false;
  return !has_file || rights[1] == 'w' || rights[3] == 's';
}

}  // namespace

std::vector<Place> bound(const std::string& numa_maps) {
  std::vector<std::pair<Place, std::string_view>> policies;
  std::string_view usual = "default";
  for_each_line(numa_maps, [&](std::string_view line) {
    const std::string_view begin = take_word(line);
    policies.emplace_back(0, take_word(line));
    std::from_chars(begin.data(), begin.data() + begin.size(), policies.back().first, 16);
    if (line.find(" stack") != std::string_view::npos) usual = policies.back().second;
  });
  std::vector<Place> places;
  for (const auto& [place, policy] : policies) {
    if (policy != usual) places.push_back(place);
  }
  return places;
}

std::vector<Area> manageable(const std::string& maps, std::span<const Place> left_alone) {
  std::vector<Area> areas;
  for_each_line(maps, [&](std::string_view line) {
    Area area;
    if (!can_be_managed(line, area) || std::ranges::binary_search(left_alone, area.begin)) return;
    if (!areas.empty() && areas.back().end == area.begin) {
      areas.back().end = area.end;
    } else {
      areas.push_back(area);
    }
  });
  return areas;
}

std::vector<Area> common(const std::vector<Area>& areas, const std::vector<Area>& others) {
  std::vector<Area> both;
  auto other = others.begin();
  for (const Area& area : areas) {
    while (other != others.end() && other->end <= area.begin) ++other;
    for (auto one = other; one != others.end() && one->begin < area.end; ++one)
      both.push_back({std::max(area.begin, one->begin), std::min(area.end, one->end)});
  }
  return both;
}

Target::Target(pid_t process, std::vector<Area> only)
    : process_(process), only_(std::move(only)), handle_(call(__NR_pidfd_open, process, 0)) {
  find_areas();
}

void Target::find_areas() {
  // It takes five times as long as to look (58 ns a page on Linux 6.18).
  constexpr unsigned looks_a_turn = 40;
  if (only_.empty() && looks_++ % looks_a_turn == 0)
    bound_ = bound(swap::os::contents(path("numa_maps")));
  areas_ = manageable(swap::os::contents(path("maps")), bound_);
  if (!only_.empty()) areas_ = common(areas_, only_);
}

std::string Target::path(const char* name) const {
  return "/proc/" + std::to_string(process_) + "/" + name;
}

/// Its number may have become another's.
bool Target::has_ended() const {
  pollfd ended{.fd = handle_.number(), .events = POLLIN, .revents = 0};
  return !handle_.open() || call(__NR_poll, word(&ended), 1, 0) != 0;
}

bool Target::look(const std::function<void(const Run&)>& found) {
  const swap::os::Descriptor pages = swap::os::open_page_map(process_);
  if (has_ended() || !pages.open()) return false;
  find_areas();
  std::array<os::ScannedRegion, 512> regions;
  os::PageScan scan{};
  scan.size = sizeof scan;
  scan.regions = os::place(regions.data());
  scan.most_regions = regions.size();
  scan.inverted = os::page_is_zero;
  scan.all_of = os::page_is_present | os::page_is_zero;
  scan.told = os::page_is_soft_dirty | os::page_is_huge;
  for (const Area& area : areas_) {
    scan.end = area.end;
    for (scan.begin = area.begin; scan.begin < area.end; scan.begin = scan.walked_to) {
      const long got = call(__NR_ioctl, pages.number(), os::page_scan_request, word(&scan));
      if (got < 0) return false;
      for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
        const std::uint64_t is = regions[i].categories;
        found({regions[i].begin, regions[i].end, (is & os::page_is_soft_dirty) != 0,
               (is & os::page_is_huge) != 0});
      }
      if (scan.walked_to <= scan.begin) break;
    }
  }
  return true;
}

bool Target::forget_writes() {
  constexpr char soft_dirty[] = "4";
  const swap::os::Descriptor file(
      call(__NR_openat, AT_FDCWD, word(path("clear_refs").c_str()), O_WRONLY | O_CLOEXEC));
  return file.open() && !has_ended() && call(__NR_write, file.number(), word(soft_dirty), 1) == 1;
}

void Target::find_nodes(std::span<const Place> pages, std::span<int> nodes) {
  std::ranges::fill(nodes, -ENOENT);
  call(__NR_move_pages, process_, word(pages.size()), word(pages.data()), 0, word(nodes.data()), 0);
}

void Target::move(std::span<const Place> pages, int node, std::span<int> nodes) {
  std::ranges::fill(nodes, -EAGAIN);
  if (has_ended()) return;
  const std::vector<int> wanted(pages.size(), node);
  const auto ask = [&] {
    return call(__NR_move_pages, process_, word(pages.size()), word(pages.data()),
                word(wanted.data()), word(nodes.data()), moves_shared_ ? move_all : move_own);
  };
  long stayed = ask();
  if (stayed == -EPERM && std::exchange(moves_shared_, false)) stayed = ask();
  const auto is_there = [&](int now) { return now == node; };
  if (stayed == 0 && std::ranges::all_of(nodes, is_there)) return;
  // The kernel may have stopped somewhere: what it says of the pages behind is not theirs. And it
  // refuses a page that another one of the same folio has taken along.
  find_nodes(pages, nodes);
  for (int& now : nodes) {
    if (now >= 0 && now != node) now = -EBUSY;
  }
}

long can_find_written() noexcept {
  const os::Place page = os::reserve(page_bytes);
  const swap::os::Descriptor pages(
      call(__NR_openat, AT_FDCWD, word("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC));
  if (page == 0 || !pages.open()) return -ENOTTY;
  *os::pointer<volatile char>(page) = 1;
  os::ScannedRegion region{};
  os::PageScan scan{};
  scan.size = sizeof scan;
  scan.begin = page;
  scan.end = page + page_bytes;
  scan.regions = os::place(&region);
  scan.most_regions = 1;
  scan.all_of = os::page_is_present;
  scan.told = os::page_is_soft_dirty;
  const long found = call(__NR_ioctl, pages.number(), os::page_scan_request, word(&scan));
  os::unmap(page, page_bytes);
  if (found < 0) return -ENOTTY;
  return found == 1 && (region.categories & os::page_is_soft_dirty) != 0 ? 0 : -ENOSYS;
}

}  // namespace nearfar::tier::attach

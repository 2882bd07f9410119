#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/block_writes.h"
#include "frontend/program.h"

/// What a program did to its pages, as text: which are hot, and where they lie.
namespace nearfar::frontend {
namespace {

using Pages = std::map<std::uint64_t, AddressSpace::Page>;

Bytes size_of(const AddressSpace::Page& page) { return page.huge ? Frames::huge : Frames::small; }

std::uint64_t lines_of(const AddressSpace::Page& page) { return page.reads + page.writes; }

const char* name_of(std::optional<Mapping> kind) {
  constexpr const char* names[] = {"memory", "heap", "stack", "file", "persistent"};
  return kind ? names[static_cast<std::size_t>(*kind)] : "other";
}

/// What the hottest 1, 2, 4... take together, up to all: how far accesses are concentrated.
void write_hottest(std::ostream& out, std::string_view name, std::vector<std::uint64_t> counts) {
  std::sort(counts.begin(), counts.end(), std::greater<>());
  std::uint64_t sum = 0;
  std::size_t next = 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += counts[i];
    if (i + 1 != next && i + 1 != counts.size()) continue;
    out << name << '.' << i + 1 << " = " << sum << '\n';
    next *= 2;
  }
}

/// Pages near each other in the program's addresses, in at most so many cells of equal size.
struct Area {
  static constexpr std::uint64_t cells = 64;
  static constexpr std::size_t most = 48;
  static constexpr Bytes gap = Bytes{8} << 20;  ///< that parts areas

  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::optional<Mapping> kind{};
  std::uint64_t lines = 0;

  [[nodiscard]] Bytes cell() const {
    Bytes size = Frames::small;
    while ((end - begin + size - 1) / size > cells) size *= 2;
    return size;
  }
};

/// The areas with the most accesses, by address.
std::vector<Area> areas_of(const AddressSpace& space) {
  std::vector<Area> areas;
  for (const auto& [address, page] : space.pages()) {
    const std::optional<Mapping> kind = space.kind_of(address);
    const bool apart =
        areas.empty() || address - areas.back().end > Area::gap || areas.back().kind != kind;
    if (apart) areas.push_back({.begin = address, .kind = kind});
    areas.back().end = address + size_of(page);
    areas.back().lines += lines_of(page);
  }
  std::sort(areas.begin(), areas.end(),
            [](const Area& a, const Area& b) { return a.lines > b.lines; });
  std::erase_if(areas, [](const Area& area) { return area.lines == 0; });
  if (areas.size() > Area::most) areas.resize(Area::most);
  std::sort(areas.begin(), areas.end(),
            [](const Area& a, const Area& b) { return a.begin < b.begin; });
  return areas;
}

struct Cell {
  std::uint64_t reads = 0, writes = 0, near = 0, far = 0;
};

}  // namespace

/// Tier, size, kind, lines read, lines written.
void Program::write_page(std::ostream& out, std::uint64_t address,
                         const AddressSpace::Page& page) const {
  out << "page." << address << " = " << (space_.is_near(page.frame) ? "near " : "far ")
      << (page.huge ? "huge " : "small ") << name_of(space_.kind_of(address)) << ' ' << page.reads
      << ' ' << page.writes << '\n';
}

void Program::write_pages(std::ostream& out) const {
  constexpr std::size_t most = 256;
  std::vector<Pages::const_iterator> hot;
  std::vector<std::uint64_t> lines;
  for (auto page = space_.pages().begin(); page != space_.pages().end(); ++page) {
    if (lines_of(page->second) == 0) continue;
    hot.push_back(page);
    lines.push_back(lines_of(page->second));
  }
  out << "pages.placed = " << space_.pages().size() << '\n'
      << "pages.touched = " << hot.size() << '\n'
      << "pages.gone_lines = " << space_.gone_lines() << '\n';
  write_hottest(out, "hottest_pages", std::move(lines));
  const auto shown = static_cast<std::ptrdiff_t>(std::min(most, hot.size()));
  std::partial_sort(hot.begin(), hot.begin() + shown, hot.end(), [](const auto& a, const auto& b) {
    const std::uint64_t of_a = lines_of(a->second);
    const std::uint64_t of_b = lines_of(b->second);
    return of_a != of_b ? of_a > of_b : a->first < b->first;
  });
  hot.resize(static_cast<std::size_t>(shown));
  for (const auto& page : hot) write_page(out, page->first, page->second);
}

/// For each cell of an area: lines read, lines written, bytes in near and in far memory.
void Program::write_map(std::ostream& out) const {
  for (const Area& area : areas_of(space_)) {
    const Bytes size = area.cell();
    std::vector<Cell> cells((area.end - area.begin + size - 1) / size);
    for (auto page = space_.pages().lower_bound(area.begin);
         page != space_.pages().end() && page->first < area.end; ++page) {
      Cell& cell = cells[(page->first - area.begin) / size];
      cell.reads += page->second.reads;
      cell.writes += page->second.writes;
      (space_.is_near(page->second.frame) ? cell.near : cell.far) += size_of(page->second);
    }
    out << "map." << area.begin << " = " << size << ' ' << name_of(area.kind);
    for (const Cell& cell : cells) {
      out << ' ' << cell.reads << ' ' << cell.writes << ' ' << cell.near << ' ' << cell.far;
    }
    out << '\n';
  }
}

void Program::write_wear(std::ostream& out) const {
  std::vector<std::uint64_t> counts = far_writes_.counts();
  out << "written_blocks.bytes = " << BlockWrites::block << '\n'
      << "written_blocks.count = " << counts.size() << '\n';
  write_hottest(out, "most_written_blocks", std::move(counts));
}

}  // namespace nearfar::frontend

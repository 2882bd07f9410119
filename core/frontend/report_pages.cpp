#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include "frontend/line_writes.h"
#include "frontend/program.h"

/// A program's pages as text: which are hot, and where they lie.
namespace nearfar::frontend {
namespace {

/// How many have each count.
using Distribution = std::map<std::uint64_t, std::uint64_t>;

Bytes size_of(const AddressSpace::Page& page) { return page.huge ? Frames::huge : Frames::small; }

std::uint64_t lines_of(const AddressSpace::Page& page) { return page.reads + page.writes; }

const char* name_of(std::optional<Mapping> kind) {
  constexpr const char* names[] = {"memory", "heap", "stack", "file", "persistent"};
  return kind ? names[static_cast<std::size_t>(*kind)] : "other";
}

/// Sums over the hottest 1, 2, 4... up to all: how far accesses are concentrated.
void write_hottest(std::ostream& out, std::string_view name, const Distribution& counts) {
  std::uint64_t sum = 0;
  std::uint64_t before = 0;
  std::uint64_t next = 1;
  for (auto at = counts.rbegin(); at != counts.rend(); ++at) {
    const auto& [count, many] = *at;
    for (; next <= before + many; next *= 2) {
      out << name << '.' << next << " = " << sum + (next - before) * count << '\n';
    }
    sum += many * count;
    before += many;
  }
  if (next != 2 * before && before != 0) out << name << '.' << before << " = " << sum << '\n';
}

/// Pages near each other in the program's addresses, in a limited number of cells of equal size.
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
  space.each_page([&](std::uint64_t address, const AddressSpace::Page& page) {
    const std::optional<Mapping> kind = space.kind_of(address);
    const bool apart =
        areas.empty() || address - areas.back().end > Area::gap || areas.back().kind != kind;
    if (apart) areas.push_back({.begin = address, .kind = kind});
    areas.back().end = address + size_of(page);
    areas.back().lines += lines_of(page);
  });
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
  struct Hot {
    std::uint64_t lines = 0;
    std::uint64_t address = 0;
    AddressSpace::Page page;
  };
  const auto hotter = [](const Hot& a, const Hot& b) {
    return a.lines != b.lines ? a.lines > b.lines : a.address < b.address;
  };
  std::vector<Hot> hot;  // a heap, the least hot on top
  Distribution lines;
  std::uint64_t touched = 0;
  space_.each_page([&](std::uint64_t address, const AddressSpace::Page& page) {
    const Hot one{.lines = lines_of(page), .address = address, .page = page};
    if (one.lines == 0) return;
    ++touched;
    ++lines[one.lines];
    if (hot.size() == most && !hotter(one, hot.front())) return;
    if (hot.size() == most) {
      std::pop_heap(hot.begin(), hot.end(), hotter);
      hot.pop_back();
    }
    hot.push_back(one);
    std::push_heap(hot.begin(), hot.end(), hotter);
  });
  out << "pages.placed = " << space_.pages() << '\n'
      << "pages.touched = " << touched << '\n'
      << "pages.gone_lines = " << space_.gone_lines() << '\n'
      << "pages.table_lines = " << table_lines_ << '\n';
  write_hottest(out, "hottest_pages", lines);
  std::sort_heap(hot.begin(), hot.end(), hotter);
  for (const Hot& one : hot) write_page(out, one.address, one.page);
}

/// For each cell of an area: lines read, lines written, bytes in near and in far memory.
void Program::write_map(std::ostream& out) const {
  for (const Area& area : areas_of(space_)) {
    const Bytes size = area.cell();
    std::vector<Cell> cells((area.end - area.begin + size - 1) / size);
    space_.each_page(
        [&](std::uint64_t address, const AddressSpace::Page& page) {
          Cell& cell = cells[(address - area.begin) / size];
          cell.reads += page.reads;
          cell.writes += page.writes;
          (space_.is_near(page.frame) ? cell.near : cell.far) += size_of(page);
        },
        area.begin, area.end);
    out << "map." << area.begin << " = " << size << ' ' << name_of(area.kind);
    for (const Cell& cell : cells) {
      out << ' ' << cell.reads << ' ' << cell.writes << ' ' << cell.near << ' ' << cell.far;
    }
    out << '\n';
  }
}

void Program::write_wear(std::ostream& out) const {
  const Distribution counts = far_writes_.block_counts();
  std::uint64_t written = 0;
  for (const auto& [count, blocks] : counts) written += blocks;
  out << "written_blocks.bytes = " << LineWrites::block << '\n'
      << "written_blocks.count = " << written << '\n';
  write_hottest(out, "most_written_blocks", counts);
  write_hottest_lines(out);
}

/// Address in the program, kind of memory, writes, wear block and how often that moved.
void Program::write_hottest_lines(std::ostream& out) const {
  constexpr std::size_t most = 10;
  struct Place {
    std::uint64_t address = 0;
    std::string_view kind = "gone";
  };
  const LineWrites::Hottest hottest = far_writes_.hottest(most);
  std::vector<Place> places(hottest.lines.size());
  space_.each_page([&](std::uint64_t address, const AddressSpace::Page& page) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::uint64_t offset = hottest.lines[i].physical.value() - page.frame.value();
      if (offset >= size_of(page)) continue;  // or wraps round
      places[i] = {.address = address + offset, .kind = name_of(space_.kind_of(address))};
    }
  });
  out << "written_lines.count = " << hottest.count << '\n'
      << "written_lines.writes = " << hottest.writes << '\n';
  for (std::size_t i = 0; i < places.size(); ++i) {
    const LineWrites::Line& line = hottest.lines[i];
    const sim::Device::WearBlock block = memory_->wear_block(line.physical);
    out << "written_line." << i << " = " << places[i].address << ' ' << places[i].kind << ' '
        << line.writes << ' ' << block.number << ' ' << block.moves << '\n';
  }
}

}  // namespace nearfar::frontend

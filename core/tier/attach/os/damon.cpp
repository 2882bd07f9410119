#include "tier/attach/os/damon.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace nearfar::tier::attach {
namespace {

using os::call;
using os::word;
using swap::os::contents;
using swap::os::Descriptor;

/// Regions that are looked at in a fiftieth of a processor's second, at 0.4 us each.
constexpr std::uint64_t regions_a_second = 50'000;
constexpr std::uint64_t least_regions = 1'000;
constexpr std::uint64_t most_regions = 200'000;
/// Of these, as many are named to the kernel one by one: each is a folder of sysfs.
constexpr std::uint64_t most_named = 4'096;

/// The kernel takes an order when it next looks, and the thread that gave it waits for that.
constexpr std::uint64_t longest_sample_ns = 2'000'000'000;

/// Between two looks, a part of a round.
constexpr std::uint64_t sample_of(std::uint64_t round_ns) {
  return round_ns / (round_ns / longest_sample_ns + 1);
}

/// Of an event, in the trace's buffer: 52 are used, and what does not fit at a page's end.
constexpr std::uint64_t event_bytes = 64;

/// 0, or -errno.
long write_to(const std::string& file, std::string_view value) {
  const Descriptor opened(
      call(__NR_openat, AT_FDCWD, word(file.c_str()), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!opened.open()) return opened.number();
  const long written = call(__NR_write, opened.number(), word(value.data()), word(value.size()));
  return written < 0 ? written : 0;
}

/// The number at the front of a text, which is taken off with what follows it; false if there is
/// no number or something else follows.
bool take_number(std::string_view& text, std::string_view behind, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(behind.size());
  return true;
}

std::uint64_t pages_of(const std::vector<Area>& areas) {
  std::uint64_t pages = 0;
  for (const Area& area : areas) pages += (area.end - area.begin) / page_bytes;
  return pages;
}

}  // namespace

/// ... damon_aggregated: target_id=0 nr_regions=12 139725193273344-139725193281536: 1 7
bool parse_region(std::string_view line, DamonRegion& region) {
  constexpr std::string_view event = "damon_aggregated: ";
  constexpr std::string_view count = "nr_regions=";
  const std::size_t at = line.find(event);
  const std::size_t number = line.find(count, std::min(at, line.size()));
  const std::size_t blank = line.find(' ', std::min(number, line.size()));
  if (blank == std::string_view::npos) return false;
  line.remove_prefix(blank + 1);
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t accesses = 0;
  if (!take_number(line, "-", begin) || !take_number(line, ": ", end) ||
      !take_number(line, " ", accesses))
    return false;
  region.area = {.begin = begin, .end = end};
  region.accesses = static_cast<unsigned>(accesses);
  return begin < end;
}

/// CPU:1 [LOST 12 EVENTS], or without a number where the kernel does not know it
std::uint64_t lost_events(std::string_view line) {
  constexpr std::string_view lost = "[LOST ";
  const std::size_t at = line.find(lost);
  if (!line.starts_with("CPU:") || at == std::string_view::npos) return 0;
  line.remove_prefix(at + lost.size());
  if (line == "EVENTS]") return 1;
  std::uint64_t events = 0;
  return take_number(line, " EVENTS]", events) ? events : 0;
}

DamonRegions regions_for(std::uint64_t pages, std::uint64_t round_ns) {
  const std::uint64_t most = std::clamp(sample_of(round_ns) / 1000 * regions_a_second / 1'000'000,
                                        least_regions, most_regions);
  // DAMON splits regions while there are at most half as many as there may be.
  const bool exact = pages <= most / 2;
  const std::uint64_t named = std::min(most / 2, most_named);
  return {.least = std::max<std::uint64_t>(exact ? pages : most / 4, 3),
          .most = most,
          .pages_each = std::max<std::uint64_t>((pages + named - 1) / named, 1)};
}

Damon::Damon(pid_t process, std::uint64_t round_ns, Folders folders)
    : process_(process),
      round_ns_(round_ns),
      folders_(std::move(folders)),
      context_(folders_.kdamonds + "/0/contexts/0/"),
      trace_(folders_.tracing + "/instances/nearfar/") {}

void Damon::set(const std::string& file, const std::string& value) const {
  const long error = write_to(file, value);
  if (error == 0) return;
  std::string said = file + ": found that '" + value + "' cannot be written: " +
                     std::generic_category().message(static_cast<int>(-error));
  if (error == -EBUSY) said += ": DAMON is in other use";
  throw InputError(said);
}

/// What a killed process has left is known by the folder of its trace, and goes first.
void Damon::set_up() {
  const bool is_left = call(__NR_access, word(trace_.c_str()), F_OK) == 0;
  const std::string count = contents(folders_.kdamonds + "/nr_kdamonds");
  const bool is_free = count.empty() || count.starts_with("0");
  if (!is_free && !(is_left && contents(context_ + "operations").starts_with("fvaddr")))
    throw InputError(folders_.kdamonds +
                     "/nr_kdamonds: found DAMON set up by another program, expected 0");
  runs_ = true;
  if (!is_free) end();
  runs_ = true;
  begin_trace();
  set(folders_.kdamonds + "/nr_kdamonds", "1");
  set(folders_.kdamonds + "/0/contexts/nr_contexts", "1");
  set(context_ + "operations", "fvaddr");
  set(context_ + "targets/nr_targets", "1");
  set(context_ + "targets/0/pid_target", std::to_string(process_));
  const std::string intervals = context_ + "monitoring_attrs/intervals/";
  const std::string round = std::to_string(std::max<std::uint64_t>(round_ns_ / 1000, 1));
  set(intervals + "sample_us",
      std::to_string(std::max<std::uint64_t>(sample_of(round_ns_) / 1000, 1)));
  set(intervals + "aggr_us", round);
  set(intervals + "update_us", round);
}

void Damon::begin_trace() {
  constexpr long all_may_enter = 0755;
  (void)call(__NR_mkdir, word(trace_.c_str()), all_may_enter);
  // Of each processor: all regions may be found accessed in a round, and told of at once.
  const std::uint64_t bytes = regions_for(1, round_ns_).most * event_bytes;
  set(trace_ + "buffer_size_kb", std::to_string(bytes / 1024 + 1));
  set(trace_ + "events/damon/damon_aggregated/enable", "1");
  pipe_ = Descriptor(call(__NR_openat, AT_FDCWD, word((trace_ + "trace_pipe").c_str()),
                          O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!pipe_.open()) throw InputError(trace_ + "trace_pipe: cannot be read");
}

void Damon::write_areas(const std::vector<Area>& areas, std::uint64_t pages_each) {
  const Place step = pages_each * page_bytes;
  std::vector<Area> parts;
  for (const Area& area : areas) {
    for (Place at = area.begin; at < area.end; at += step)
      parts.push_back({at, std::min(area.end, at + step)});
  }
  const std::string regions = context_ + "targets/0/regions/";
  set(regions + "nr_regions", std::to_string(parts.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string region = regions + std::to_string(i) + "/";
    set(region + "start", std::to_string(parts[i].begin));
    set(region + "end", std::to_string(parts[i].end));
  }
}

void Damon::watch(const std::vector<Area>& areas) {
  const bool begins = !runs_;
  if (areas.empty()) return;
  try {
    if (begins) set_up();
    set_areas(areas, begins);
    if (begins) {
      set_filter(areas.front().begin);
      set(folders_.kdamonds + "/0/state", "on");
    } else {
      // Until this is written and taken, the kernel goes on by what it had.
      set(folders_.kdamonds + "/0/state", "commit");
      set_filter(areas.front().begin);
    }
    first_ = areas.front().begin;
  } catch (const InputError&) {
    if (begins) end();
    throw;
  }
}

void Damon::set_areas(const std::vector<Area>& areas, bool begins) {
  const DamonRegions regions = regions_for(pages_of(areas), round_ns_);
  set(context_ + "monitoring_attrs/nr_regions/max", std::to_string(regions.most));
  set(context_ + "monitoring_attrs/nr_regions/min", std::to_string(regions.least));
  // What has been split already stays so.
  constexpr std::uint64_t whole = ~std::uint64_t{0} / page_bytes / 2;
  write_areas(areas, begins ? regions.pages_each : whole);
}

void Damon::set_filter(Place first) const {
  set(trace_ + "events/damon/damon_aggregated/filter",
      "nr_accesses > 0 || start == " + std::to_string(first));
}

bool Damon::listen() {
  std::array<char, 65536> read;
  for (long got = 1; got > 0;) {
    got = call(__NR_read, pipe_.number(), word(read.data()), word(read.size()));
    if (got <= 0) break;
    partial_.append(read.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = partial_.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      note_line(std::string_view(partial_).substr(begin, end - begin));
    partial_.erase(0, begin);
  }
  return has_round_;
}

/// What has been lost may be the first region's event, which ends a round.
void Damon::note_line(std::string_view line) {
  if (const std::uint64_t events = lost_events(line); events != 0) {
    lost_ += events;
    has_round_ = true;
    return;
  }
  DamonRegion region;
  if (!parse_region(line, region)) return;
  has_round_ = has_round_ || region.area.begin == first_;
  if (region.accesses != 0) accessed_.push_back(region.area);
}

std::vector<Area> Damon::take() {
  has_round_ = false;
  std::ranges::sort(accessed_, {}, &Area::begin);
  std::vector<Area> joined;
  for (const Area& area : accessed_) {
    if (!joined.empty() && area.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, area.end);
    else
      joined.push_back(area);
  }
  accessed_.clear();
  return joined;
}

std::uint64_t Damon::cpu_ns() const {
  std::string number = contents(folders_.kdamonds + "/0/pid");
  number.erase(std::min(number.find('\n'), number.size()));
  const std::string times = contents("/proc/" + number + "/schedstat");
  std::uint64_t ns = 0;
  std::from_chars(times.data(), times.data() + times.size(), ns);
  return ns;
}

/// As it was before; the kernel's thread may have ended with the process.
void Damon::end() {
  if (!std::exchange(runs_, false)) return;
  (void)write_to(folders_.kdamonds + "/0/state", "off");
  (void)write_to(folders_.kdamonds + "/nr_kdamonds", "0");
  pipe_ = Descriptor();
  (void)write_to(trace_ + "events/damon/damon_aggregated/enable", "0");
  (void)call(__NR_rmdir, word(trace_.c_str()));
}

}  // namespace nearfar::tier::attach

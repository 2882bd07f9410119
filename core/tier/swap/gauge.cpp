#include "tier/swap/gauge.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace nearfar::tier::swap {
namespace {

/// The number behind a name at the start of a line; 0 without one.
std::uint64_t value_of(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      std::uint64_t value = 0;
      std::from_chars(line.data() + name.size() + 1, line.data() + line.size(), value);
      return value;
    }
    at += line.size() + 1;
  }
  return 0;
}

std::uint64_t number(const std::string& text) { return value_of("is " + text, "is"); }

}  // namespace

Gauge::Gauge(const std::string& group, bool unified) : group_(group), unified_(unified) {}

Reading Gauge::read(const std::vector<pid_t>& processes) const {
  Reading reading;
  if (!grouped()) {
    for (const pid_t process : processes) reading.near += os::resident_anonymous(process);
    return reading;
  }
  const std::string stat = os::contents(group_ + "/memory.stat");
  const auto value = [&](std::string_view name) { return value_of(stat, name); };
  if (unified_) {
    const std::string swapped = os::contents(group_ + "/memory.swap.current");
    reading = {value("anon"), number(swapped), value("pgfault"), value("pgmajfault")};
  } else {
    reading = {value("total_rss"), value("total_swap"), value("total_pgfault"),
               value("total_pgmajfault")};
  }
  reading.near /= os::page_bytes;
  reading.swapped /= os::page_bytes;
  return reading;
}

bool Gauge::process_waits() const {
  if (!grouped() || unified_) return false;
  return value_of(os::contents(group_ + "/memory.oom_control"), "under_oom") != 0;
}

void Gauge::wake(std::uint64_t limit) const {
  const std::uint64_t bytes = limit * os::page_bytes;
  os::set(group_ + "/memory.limit_in_bytes", std::to_string(bytes + os::page_bytes));
  os::set(group_ + "/memory.limit_in_bytes", std::to_string(bytes));
}

void Gauge::give_up_waiting() const {
  if (grouped() && !unified_) os::set(group_ + "/memory.oom_control", "0");
}

std::vector<pid_t> Gauge::processes(pid_t launcher) const {
  std::vector<pid_t> all =
      grouped() ? os::listed(group_ + "/cgroup.procs") : os::descendants(launcher);
  std::ranges::sort(all);
  return all;
}

}  // namespace nearfar::tier::swap

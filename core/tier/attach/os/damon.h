#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tier/attach/access_monitor.h"
#include "tier/swap/os/process.h"

namespace nearfar::tier::attach {

/// One of DAMON's regions, as an event of the kernel tells of it.
struct DamonRegion {
  Area area;
  unsigned accesses = 0;
};

/// A line of the trace: false if it is not about a region.
[[nodiscard]] bool parse_region(std::string_view line, DamonRegion& region);

/// How many events a line of the trace says were lost before it; 0 if it is about something else.
[[nodiscard]] std::uint64_t lost_events(std::string_view line);

/// How many regions DAMON may have, and of how many pages each is at first.
struct DamonRegions {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t pages_each = 1;
};

/// What fits into a fiftieth of a processor: with rounds of so long, over so many pages. Where the
/// pages are few enough, each is a region, so that accesses are known to the page.
[[nodiscard]] DamonRegions regions_for(std::uint64_t pages, std::uint64_t round_ns);

/// The kernel's data access monitor (DAMON), which sees reads as well as writes, by its files in
/// sysfs and the events of its trace. For root alone.
///
/// In each round, DAMON looks at the accessed bit of one page of each region, picked at random: a
/// region that was found accessed in a share of the rounds has about that share of its pages in
/// use. Regions that differ from their neighbours stay apart, and others are joined and split anew.
///
/// All that is set is undone at the end. If its process is killed, DAMON goes on until the
/// watched process ends, or until the next of these objects begins.
class Damon final : public AccessMonitor {
 public:
  struct Folders {
    std::string kdamonds = "/sys/kernel/mm/damon/admin/kdamonds";
    std::string tracing = "/sys/kernel/tracing";
  };

  /// Throws InputError if DAMON is in other use.
  Damon(pid_t process, std::uint64_t round_ns, Folders folders);
  ~Damon() override { Damon::end(); }

  void watch(const std::vector<Area>& areas) override;
  bool listen() override;
  [[nodiscard]] std::vector<Area> take() override;
  [[nodiscard]] std::uint64_t lost() const override { return lost_; }
  [[nodiscard]] std::uint64_t cpu_ns() const override;
  void end() override;

 private:
  void set_up();
  void set_areas(const std::vector<Area>& areas, bool begins);
  void set_filter(Place first) const;
  void write_areas(const std::vector<Area>& areas, std::uint64_t pages_each);
  void begin_trace();
  void note_line(std::string_view line);
  void set(const std::string& file, const std::string& value) const;

  pid_t process_;
  std::uint64_t round_ns_;
  Folders folders_;
  std::string context_;
  std::string trace_;
  swap::os::Descriptor pipe_;
  std::string partial_;  // the line that has been read in part
  Place first_ = 0;  // where the first region begins: its event is of each round
  bool has_round_ = false;
  bool runs_ = false;
  std::uint64_t lost_ = 0;
  std::vector<Area> accessed_;
};

}  // namespace nearfar::tier::attach

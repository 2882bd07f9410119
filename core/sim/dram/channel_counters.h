#pragma once

#include <cstdint>
#include <string>

#include "base/counters.h"

namespace nearfar::sim::dram {

/// What a channel counts.
struct ChannelCounters {
  std::uint64_t reads = 0;              ///< requests accepted
  std::uint64_t writes = 0;
  std::uint64_t forwarded_reads = 0;    ///< reads served from the write queue
  std::uint64_t coalesced_writes = 0;   ///< writes merged into a queued one
  std::uint64_t refused = 0;            ///< sends that found the queue full
  std::uint64_t row_hits = 0;           ///< bursts whose row was open
  std::uint64_t row_misses = 0;         ///< bursts that needed an activate
  std::uint64_t row_conflicts = 0;      ///< bursts that needed a precharge and an activate
  std::uint64_t read_bursts = 0;
  std::uint64_t write_bursts = 0;
  std::uint64_t activates = 0;
  std::uint64_t precharges = 0;         ///< PRE and PREA; auto-precharges apart
  std::uint64_t auto_precharges = 0;
  std::uint64_t refreshes = 0;          ///< REF and REFSB
  std::uint64_t powerdowns = 0;
  std::uint64_t self_refreshes = 0;
  std::uint64_t powerdown_ps = 0;       ///< summed over ranks, up to the last exit
  std::uint64_t self_refresh_ps = 0;
  std::uint64_t read_queue_entry_ps = 0;  ///< time that requests which left the queue spent there
  std::uint64_t write_queue_entry_ps = 0;

  struct Field {
    const char* name;
    std::uint64_t ChannelCounters::* value;
  };
  static const Field fields[];

  /// Adds `times` more of what was counted since `before`.
  void repeat_since(const ChannelCounters& before, std::uint64_t times);

  void register_in(Counters& counters, const std::string& prefix) const;
};

inline constexpr ChannelCounters::Field ChannelCounters::fields[] = {
    {"reads", &ChannelCounters::reads},
    {"writes", &ChannelCounters::writes},
    {"forwarded_reads", &ChannelCounters::forwarded_reads},
    {"coalesced_writes", &ChannelCounters::coalesced_writes},
    {"refused", &ChannelCounters::refused},
    {"row_hits", &ChannelCounters::row_hits},
    {"row_misses", &ChannelCounters::row_misses},
    {"row_conflicts", &ChannelCounters::row_conflicts},
    {"read_bursts", &ChannelCounters::read_bursts},
    {"write_bursts", &ChannelCounters::write_bursts},
    {"activates", &ChannelCounters::activates},
    {"precharges", &ChannelCounters::precharges},
    {"auto_precharges", &ChannelCounters::auto_precharges},
    {"refreshes", &ChannelCounters::refreshes},
    {"powerdowns", &ChannelCounters::powerdowns},
    {"self_refreshes", &ChannelCounters::self_refreshes},
    {"powerdown_ps", &ChannelCounters::powerdown_ps},
    {"self_refresh_ps", &ChannelCounters::self_refresh_ps},
    {"read_queue_entry_ps", &ChannelCounters::read_queue_entry_ps},
    {"write_queue_entry_ps", &ChannelCounters::write_queue_entry_ps},
};

inline void ChannelCounters::repeat_since(const ChannelCounters& before, std::uint64_t times) {
  for (const Field& field : fields) {
    this->*field.value += (this->*field.value - before.*field.value) * times;
  }
}

inline void ChannelCounters::register_in(Counters& counters, const std::string& prefix) const {
  for (const Field& field : fields) counters.add(prefix + field.name, this->*field.value);
}

}  // namespace nearfar::sim::dram

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/tick.h"
#include "sim/device.h"
#include "sim/machine/requester.h"
#include "trace/parser.h"

namespace nearfar::sim {

/// When the accesses of a trace enter the memory. Either way they enter in the order of
/// the trace, and one that the device refuses holds up those behind it.
enum class Pace : std::uint8_t {
  trace,  ///< at their cycle; late ones as soon as they can
  asap,   ///< as soon as the limit of outstanding requests and the device allow
};

/// What a replay measured.
struct ReplayResult {
  std::uint64_t requests = 0;  ///< lines of 64 bytes, which is what memory is asked for
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t media_writes = 0;  ///< with Options::tell_media: writes seen on the media
  Tick elapsed;                    ///< from the first request's due time to the last completion
  /// Read latency, from acceptance by the memory to the data. Quantiles are less than
  /// 0.79 % above the exact ones and never below; the maximum is exact.
  Tick read_p50, read_p99, read_p999, read_max;
  /// At Pace::trace: requests that entered after their cycle, and the longest such wait.
  /// The wait is not part of the read latency.
  std::uint64_t late = 0;
  Tick late_max;
  std::vector<Counters::Reading> counters;  ///< the device's

  /// 10^9 bytes a second; 0 when no time has passed.
  [[nodiscard]] double gb_per_s() const;
};

/// Plays a text trace on a device. Accesses are split into the lines they touch, which
/// enter together. The trace may come in pieces cut anywhere; memory does not grow with
/// its length.
class Replay {
 public:
  struct Options {
    Pace pace = Pace::trace;
    std::uint32_t outstanding = 0;  ///< requests in flight at most; 0: what the device takes
    Tick clock{};                   ///< period of the trace's cycles, > 0
    bool tell_media = false;        ///< follow every write to the media
  };

  /// `device` must outlive the replay, and time must not have passed in it.
  Replay(Device& device, trace::Parser parser, const Options& options);

  /// Plays the accesses of the lines that are complete with `chunk`. Throws InputError
  /// "NAME:LINE: ..." for a line that cannot be read, an address beyond the device's
  /// capacity, and a cycle beyond 106 days of simulated time.
  void feed(std::string_view chunk);

  /// Plays what is left and waits until everything has completed. Throws as feed() does,
  /// and InputError for a trace without any access.
  [[nodiscard]] ReplayResult finish();

  /// The format of the trace; nullptr before it is known.
  [[nodiscard]] const trace::Format* format() const { return parser_.format(); }

 private:
  void play(const trace::Record& record);
  void play_all();
  void check_capacity(const trace::Record& record) const;
  [[nodiscard]] Tick due_time(const trace::Record& record) const;

  Device& device_;
  trace::Parser parser_;
  Options options_;
  Bytes capacity_;
  std::uint64_t max_cycles_;
  Requester requester_;
  std::vector<trace::Record> records_;
  std::vector<std::uint64_t> blocking_;  // requests of the access that blocks
  std::optional<Tick> first_due_;
  Tick last_entry_;
  Tick unblocked_;  // last_entry_, or later when that access blocked
  std::uint64_t late_ = 0;
  Tick late_max_;
};

}  // namespace nearfar::sim

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counters.h"
#include "base/tick.h"
#include "sim/device.h"
#include "sim/machine/first_touch.h"
#include "sim/machine/requester.h"
#include "trace/reader.h"
#include "trace/window.h"

namespace nearfar::sim {

/// When the accesses of a trace enter the memory. Either way they enter in the order of
/// the trace, and one that the device refuses holds up those behind it.
enum class Pace : std::uint8_t {
  trace,  ///< at their cycle; late ones as soon as they can
  asap,   ///< as soon as the limit of outstanding requests and the device allow
};

/// Where the addresses of a trace lie in memory.
enum class Frames : std::uint8_t {
  as_is,        ///< at the address itself; one beyond memory is refused
  first_touch,  ///< pages of 4 KiB from address 0 up, in the order of their first touch
  fold,         ///< at the remainder of the address by the size of memory
};

/// The measurements of a replay. What it could not measure is empty.
struct ReplayResult {
  std::uint64_t requests = 0;  ///< lines of 64 bytes, which is what memory is asked for
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t fences = 0;
  std::uint64_t media_writes = 0;  ///< with Options::tell_media: writes seen on the media
  /// From the first request's due time to the last completion; with Options::drain until the last
  /// write has left the memory's queues.
  Tick elapsed;
  /// Read latency, from acceptance by the memory to the data. Quantiles are less than
  /// 0.79 % above the exact ones and never below; the maximum is exact.
  struct ReadLatency {
    Tick p50, p90, p99, p999, max;
    double mean_ps = 0;
    std::uint64_t count = 0;
    /// The highest latency of each range that holds any, in ps, and the reads in it, from the
    /// lowest up; eight ranges share a power of two.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges{};
  };
  std::optional<ReadLatency> read_latency;  ///< empty when nothing was read
  /// Requests that entered after their cycle, and the longest such wait, which is not part of the
  /// read latency. Empty at Pace::asap.
  struct Lateness {
    std::uint64_t requests = 0;
    Tick longest;
  };
  std::optional<Lateness> late;
  /// Lines by the time at which they completed, from when the first request was due.
  Traffic::Series traffic;
  std::vector<Counters::Reading> counters;  ///< the device's

  /// 10^9 bytes a second; empty when no time has passed.
  [[nodiscard]] std::optional<double> gb_per_s() const;
};

/// Plays a trace on a device. Accesses are split into the lines they touch, which
/// enter together. The trace may come in pieces cut anywhere; memory does not grow with
/// its length, but with Frames::first_touch with the pages it touches.
///
/// Flushes of a memory trace and writes past the
/// caches are writes; a flush in a program's trace asks for nothing, as the program's stores are
/// played as writes already. A fence holds up its thread's next record.
class Replay {
 public:
  struct Options {
    Pace pace = Pace::trace;
    std::uint32_t outstanding = 0;  ///< requests in flight at most; 0: what the device takes
    Tick clock{};  ///< period of the trace's cycles or instructions, > 0
    bool trace_clock = false;  ///< a trace that says its clock itself is right
    trace::Window window{};
    /// Empty: first_touch for a program's trace, whose addresses are virtual, as_is for others.
    std::optional<Frames> frames{};
    bool drain = false;  ///< time ends when no write is queued any more
    bool tell_media = false;  ///< follow every write to the media
  };

  /// `device` must outlive the replay, and time must not have passed in it.
  Replay(Device& device, std::unique_ptr<trace::Reader> reader, const Options& options);

  /// Plays the accesses of the lines that are complete with `chunk`. Throws InputError
  /// "NAME:LINE: ..." for a line that cannot be read, an address beyond the device's
  /// capacity, and a cycle beyond 106 days of simulated time.
  void feed(std::string_view chunk);

  /// True when the end of the window has been reached: the rest of the trace need not be fed.
  [[nodiscard]] bool done() const { return done_; }

  /// Plays what is left and waits until everything has completed. Throws as feed() does,
  /// and InputError for a trace without any access, or none in the window.
  [[nodiscard]] ReplayResult finish();

  /// The name of the trace's format; empty before it is known.
  [[nodiscard]] std::string_view format_name() const { return reader_->format_name(); }

  /// Whether an address beyond memory was met and refused, which other Frames would take.
  [[nodiscard]] bool is_beyond_memory() const { return beyond_memory_; }

 private:
  /// The times that gaps count from: one of each thread for instructions, one of all for cycles.
  struct Timeline {
    bool begun = false;
    Tick last_entry;
    Tick unblocked;  // last_entry, or later when that access blocked or a fence was waited for
  };

  void begin();
  void play(trace::Record record);
  void play_all();
  [[nodiscard]] bool is_plain(const trace::Record& record) const;
  void play_lines(const trace::Record& record, Tick due);
  [[nodiscard]] std::uint16_t port_of(Address line, Op op) const;
  void count_from_here();
  void check_capacity(const trace::Record& record);
  void finish_playing();
  [[nodiscard]] Address place(const trace::Record& record, Address line);
  [[nodiscard]] Timeline& timeline_of(std::uint16_t thread);
  void wait_for_fence(std::uint16_t thread, Timeline& timeline);
  [[nodiscard]] Tick due_time(const trace::Record& record, const Timeline& timeline) const;
  [[nodiscard]] std::vector<Counters::Reading> read_counters() const;

  Device& device_;
  std::unique_ptr<trace::Reader> reader_;
  Options options_;
  Bytes capacity_;
  std::uint64_t max_cycles_ = 0;
  Requester requester_;
  trace::Windowing window_;
  trace::Timing timing_;
  bool begun_ = false;
  bool counting_ = false;
  bool done_ = false;
  bool plain_ = false;  ///< nothing but the lines has a part in what follows: no times, no threads
  bool one_queue_;
  Frames frames_ = Frames::as_is;
  bool beyond_memory_ = false;
  FirstTouch pages_;
  std::vector<Counters::Reading> before_;  // the counters when counting began
  std::vector<trace::Record> records_;
  std::vector<std::uint64_t> blocking_;  // requests of the access that blocks
  Tick counting_since_;
  std::optional<Tick> first_due_;
  std::vector<Timeline> timelines_;
  std::vector<trace::Access> fences_;  // by thread, one that its next record waits for, or read
  std::uint64_t fence_count_ = 0;
  std::uint64_t late_ = 0;
  Tick late_max_;
};

}  // namespace nearfar::sim

#pragma once

#include <sys/time.h>

#include <cstdint>
#include <ctime>
#include <optional>

#include "base/tick.h"

namespace nearfar::frontend::qemu {

/// Simulated time as the guest's clocks tell it: they show what the machine's showed when the
/// run began, and what was simulated since.
class GuestTime {
 public:
  GuestTime(std::uint64_t realtime_ns, std::uint64_t monotonic_ns)
      : realtime_ns_(realtime_ns), monotonic_ns_(monotonic_ns) {}

  /// How far a clock that ticks in simulated time has come; nothing for one that does not.
  [[nodiscard]] std::optional<std::uint64_t> at(clockid_t clock, Tick now) const {
    const std::uint64_t elapsed = now.ps() / 1000;
    switch (clock) {
      case CLOCK_REALTIME:
      case CLOCK_REALTIME_COARSE:
        return realtime_ns_ + elapsed;
      case CLOCK_MONOTONIC:
      case CLOCK_MONOTONIC_RAW:
      case CLOCK_MONOTONIC_COARSE:
      case CLOCK_BOOTTIME:
        return monotonic_ns_ + elapsed;
      default:
        return std::nullopt;
    }
  }

  [[nodiscard]] static std::uint64_t host_ns() {
    timespec host{};
    clock_gettime(CLOCK_MONOTONIC, &host);
    return nanoseconds(host);
  }
  /// By how much the host's clocks are ahead of the guest's.
  [[nodiscard]] std::int64_t host_ahead_ns(Tick now) const {
    return static_cast<std::int64_t>(host_ns() - monotonic_ns_ - now.ps() / 1000);
  }

  /// The simulated time at which a clock shows `shown_ns`; the past is the beginning.
  [[nodiscard]] Tick when(bool realtime, std::uint64_t shown_ns) const {
    const std::uint64_t base = realtime ? realtime_ns_ : monotonic_ns_;
    return shown_ns < base ? Tick() : ticks(shown_ns - base);
  }

  /// The span, at most a hundred simulated days: no run is longer.
  [[nodiscard]] static Tick ticks(std::uint64_t ns) {
    constexpr std::uint64_t longest = 100ull * 24 * 3600 * 1000 * 1000 * 1000;
    return Tick((ns < longest ? ns : longest) * 1000);
  }
  [[nodiscard]] static std::uint64_t nanoseconds(const timespec& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
  }
  [[nodiscard]] static timespec as_timespec(std::uint64_t ns) {
    return {.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
            .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  }
  [[nodiscard]] static timeval as_timeval(std::uint64_t ns) {
    return {.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
            .tv_usec = static_cast<suseconds_t>(ns % 1'000'000'000 / 1000)};
  }

 private:
  std::uint64_t realtime_ns_;
  std::uint64_t monotonic_ns_;
};

}  // namespace nearfar::frontend::qemu

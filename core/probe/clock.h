#pragma once

#include <cstdint>

namespace nearfar::probe {

// NOLINTBEGIN(misc-const-correctness): clang-tidy does not see that assembly writes to variables.

/// The time stamp counter before what is timed: everything earlier has finished, and nothing
/// later has begun. (How the fences pair up with rdtscp: Intel 64 manual, volume 2, RDTSCP.)
inline std::uint64_t start_cycles() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile(
      "lfence\n\t"
      "rdtscp\n\t"
      "lfence"
      : "=a"(low), "=d"(high)
      :
      : "rcx", "memory");
  return std::uint64_t{high} << 32 | low;
}

/// The counter after what is timed: its loads have their data, its stores are at least on
/// their way (a fence before this call waits for them).
inline std::uint64_t stop_cycles() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile(
      "rdtscp\n\t"
      "lfence"
      : "=a"(low), "=d"(high)
      :
      : "rcx", "memory");
  return std::uint64_t{high} << 32 | low;
}

/// The counter now, in no order with what stands around it: for waiting, not for timing.
inline std::uint64_t cycles_now() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

// NOLINTEND(misc-const-correctness)

/// From cycles of the time stamp counter to nanoseconds, less what reading the counter costs.
class Clock {
 public:
  /// Calibrated once, against CLOCK_MONOTONIC_RAW. Throws InputError without rdtscp.
  static const Clock& host();

  /// The time between a start and a stop. The overhead varies from reading to reading, so its
  /// median is what a typical timing contains; a shorter timing is nothing, never negative.
  [[nodiscard]] double ns(std::uint64_t cycles) const {
    return cycles > overhead_p50_ ? raw_ns(cycles - overhead_p50_) : 0.0;
  }
  [[nodiscard]] double raw_ns(std::uint64_t cycles) const {
    return static_cast<double>(cycles) * ns_per_cycle_;
  }

  /// The cycles of a span, the reverse of `raw_ns`.
  [[nodiscard]] std::uint64_t cycles(double ns) const {
    return static_cast<std::uint64_t>(ns / ns_per_cycle_);
  }

  [[nodiscard]] double hertz() const { return 1e9 / ns_per_cycle_; }
  [[nodiscard]] double overhead_p10_ns() const { return raw_ns(overhead_p10_); }
  [[nodiscard]] double overhead_p50_ns() const { return raw_ns(overhead_p50_); }
  [[nodiscard]] double overhead_p90_ns() const { return raw_ns(overhead_p90_); }

 private:
  Clock();

  double ns_per_cycle_ = 0;
  std::uint64_t overhead_p10_ = 0;
  std::uint64_t overhead_p50_ = 0;
  std::uint64_t overhead_p90_ = 0;
};

}  // namespace nearfar::probe

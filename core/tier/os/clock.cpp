#include "tier/os/clock.h"

#include <ctime>

#include "tier/os/system.h"

namespace nearfar::tier::os {

namespace {

std::uint64_t ns_of(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // touches nothing of libc's thread unless it fails
  return ns_of(now);
}

std::uint64_t run_ns(int thread) noexcept {
  // The number of a clock holds the thread's, complemented, and of what kind it is.
  constexpr long scheduled = 2;
  constexpr long of_a_thread = 4;
  const long clock = (~static_cast<long>(thread) << 3) | of_a_thread | scheduled;
  timespec ran{};
  return call(__NR_clock_gettime, clock, word(&ran)) == 0 ? ns_of(ran) : 0;
}

std::uint64_t own_thread_ns() noexcept {
  timespec ran{};
  return call(__NR_clock_gettime, CLOCK_THREAD_CPUTIME_ID, word(&ran)) == 0 ? ns_of(ran) : 0;
}

void wait_until(std::uint64_t ns) noexcept {
  constexpr std::uint64_t late = 100000;
  const std::uint64_t now = monotonic_ns();
  if (ns > now + 2 * late) {
    const std::uint64_t asleep = ns - now - late;
    const timespec length{.tv_sec = static_cast<time_t>(asleep / 1000000000U),
                          .tv_nsec = static_cast<long>(asleep % 1000000000U)};
    call(__NR_nanosleep, word(&length), 0);
  }
  while (monotonic_ns() < ns) __builtin_ia32_pause();
}

}  // namespace nearfar::tier::os

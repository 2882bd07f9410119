#include "tier/os/clock.h"

#include <ctime>

#include "tier/os/system.h"

namespace nearfar::tier::os {

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // touches nothing of libc's thread unless it fails
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
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

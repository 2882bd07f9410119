#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nearfar::tier::os {

/// Processors, by the numbers that the kernel gives them.
struct Cpus {
  static constexpr int most = 8192;  ///< that Linux can be built for
  std::array<std::uint64_t, most / 64> words{};

  [[nodiscard]] static Cpus only(int cpu);
  [[nodiscard]] static Cpus all();
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] bool has(int cpu) const;
  [[nodiscard]] Cpus without(int cpu) const;
  bool operator==(const Cpus&) const = default;
};

/// Those that a thread may run on, 0 for the calling one; none if the kernel does not tell.
[[nodiscard]] Cpus cpus_of(int thread) noexcept;
/// The thread runs there from now on; false if it may not.
[[nodiscard]] bool run_on(int thread, const Cpus& cpus) noexcept;

/// Whether the thread has the policy that threads have unless told otherwise (SCHED_OTHER).
[[nodiscard]] bool runs_as_others(int thread) noexcept;
/// Gives it that policy; false if it may not.
[[nodiscard]] bool run_as_others(int thread) noexcept;
/// Prefers it to what it was by so many steps of niceness, if it may be.
void prefer(int thread, int steps) noexcept;
/// Whether the calling thread may take back what makes it less preferred, which is also what it
/// takes to leave the policy of `run_when_idle`. It is tried with a step of niceness, which a
/// thread that may not keeps.
[[nodiscard]] bool may_prefer_again() noexcept;
/// From now on it runs only when no other thread wants the processor (SCHED_IDLE).
void run_when_idle(int thread) noexcept;

/// Opens what the kernel tells of a thread of this process, for `cpu_of`; -errno on failure.
[[nodiscard]] int open_stat(int thread) noexcept;
/// The processor that the thread runs on, or ran on last; -1 if it has ended.
[[nodiscard]] int cpu_of(int stat) noexcept;
/// Whether the thread is on no processor, and waits for none.
[[nodiscard]] bool is_asleep(int stat) noexcept;

}  // namespace nearfar::tier::os

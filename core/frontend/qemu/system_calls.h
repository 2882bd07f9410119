#pragma once

#include <cstdint>
#include <string>

#include "frontend/qemu/process.h"
#include "frontend/qemu/waits.h"

namespace nearfar::frontend::qemu {

/// Follows the guest's system calls. Clocks tell simulated time: what the kernel wrote is
/// overwritten. A thread that waits for a time waits as long by the real clock, and its own clock
/// goes on by as much: other processes and threads get the time that the program gives them.
class SystemCalls {
 public:
  explicit SystemCalls(Process& process);

  void enter(const SystemCall& call);
  void exit(std::int64_t result);

 private:
  /// What a thread's call will need when it comes back.
  struct Pending {
    SystemCall call;
    Wait wait;
    Tick entered{};
    std::uint64_t entered_real_ns = 0;  ///< of a call that may wait
    Tick until{};          ///< when the time waited for is over
    bool limited = false;  ///< it waits for a time
    bool moved = false;    ///< the reading in the guest's memory was changed
    std::uint64_t moved_at = 0;
    timespec original{};
  };

  void request(Thread& thread, const SystemCall& call);
  void execute(Thread& thread, const SystemCall& call);
  void prepare_wait();
  [[nodiscard]] Tick interrupted_at();
  [[nodiscard]] Tick collect(std::int64_t child);
  void tell_time(Thread& thread);
  void tell_usage(Thread& thread);
  void follow_memory(Thread& thread, std::uint64_t result);
  [[nodiscard]] Mapping kind_of(std::uint64_t flags, std::uint64_t file) const;
  [[nodiscard]] bool is_persistent(std::uint64_t file) const;

  static thread_local Pending pending;

  Process& process_;
  GuestTime time_;
  Tick reading_;  ///< what a look at the clock takes
  std::string persistent_folder_;  ///< with a slash at its end; empty: none
};

}  // namespace nearfar::frontend::qemu

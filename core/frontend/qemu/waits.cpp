#include "frontend/qemu/waits.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <cerrno>

#include "frontend/qemu/guest_memory.h"

namespace nearfar::frontend::qemu {
namespace {

constexpr unsigned value_offset = 16;  ///< of itimerspec's first expiry, behind its period

Wait futex_wait(const SystemCall& call) {
  const auto flags = static_cast<int>(call.arguments[1]);
  Wait wait{.form = Wait::Form::time_spec, .argument = 3, .over = -ETIMEDOUT, .may_block = true};
  switch (flags & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
      return wait;
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
      wait.absolute = true;
      wait.realtime = (flags & FUTEX_CLOCK_REALTIME) != 0;
      return wait;
    case FUTEX_LOCK_PI:
      wait.absolute = wait.realtime = true;
      return wait;
    default:
      return {};
  }
}

}  // namespace

Wait wait_of(const SystemCall& call) {
  using enum Wait::Form;
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_nanosleep:
      return {.form = time_spec, .argument = 0};
    case SYS_clock_nanosleep:
      return {.form = time_spec,
              .argument = 2,
              .absolute = (arguments[1] & TIMER_ABSTIME) != 0,
              .realtime = arguments[0] == CLOCK_REALTIME};
    case SYS_poll:
      return {.form = milliseconds, .argument = 2, .may_block = true};
    case SYS_ppoll:
      return {.form = time_spec, .argument = 2, .may_block = true};
    case SYS_select:
      return {.form = time_value, .argument = 4, .may_block = true};
    case SYS_pselect6:
      return {.form = time_spec, .argument = 4, .may_block = true};
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return {.form = milliseconds, .argument = 3, .may_block = true};
    case SYS_epoll_pwait2:
      return {.form = time_spec, .argument = 3, .may_block = true};
    case SYS_rt_sigtimedwait:
      return {.form = time_spec, .argument = 2, .over = -EAGAIN, .may_block = true};
    case SYS_semtimedop:
      return {.form = time_spec, .argument = 3, .over = -EAGAIN, .may_block = true};
    case SYS_futex:
      return futex_wait(call);
    case SYS_timerfd_settime:
    case SYS_timer_settime:
      // Waits for nothing, but its reading has to be translated as others are.
      return {.form = (arguments[1] & TFD_TIMER_ABSTIME) != 0 ? time_spec : none,
              .argument = 2,
              .offset = value_offset,
              .absolute = true,
              .over = 1};
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_flock:
    case SYS_semop:
    case SYS_msgrcv:
      return {.may_block = true};
    default:
      return {};
  }
}

std::optional<std::uint64_t> limit_ns(const Wait& wait, const SystemCall& call) {
  const std::uint64_t argument = call.arguments[wait.argument];
  switch (wait.form) {
    case Wait::Form::none:
      return std::nullopt;
    case Wait::Form::milliseconds: {
      const auto span = static_cast<std::int32_t>(argument);
      if (span < 0) return std::nullopt;
      return static_cast<std::uint64_t>(span) * 1'000'000;
    }
    case Wait::Form::time_spec: {
      const auto time = read_guest<timespec>(argument + wait.offset);
      if (argument == 0 || !time || time->tv_sec < 0) return std::nullopt;
      // A timer that is set to zero is stopped, not due.
      if (wait.offset != 0 && GuestTime::nanoseconds(*time) == 0) return std::nullopt;
      return GuestTime::nanoseconds(*time);
    }
    case Wait::Form::time_value: {
      const auto time = read_guest<timeval>(argument);
      if (argument == 0 || !time || time->tv_sec < 0) return std::nullopt;
      return static_cast<std::uint64_t>(time->tv_sec) * 1'000'000'000 +
             static_cast<std::uint64_t>(time->tv_usec) * 1000;
    }
  }
  return std::nullopt;
}

}  // namespace nearfar::frontend::qemu

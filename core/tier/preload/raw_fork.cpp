// Children that are made past libc's fork, and so without its handlers. They get none of the
// managed memory. But while a thread forks, every child inherits it, and without a pager: far pages
// would be zeros. So no child is made in these ways while a thread forks.

#include "tier/preload/raw_fork.h"

#include <sched.h>

#include <array>
#include <cstdarg>
#include <cstdint>

#include "tier/os/clock.h"
#include "tier/preload/exported.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

/// Makes a child while no thread forks, and none does until `end`. A thread that forks may itself
/// wait for this one: for what it held when the handler of a signal, which may make such children,
/// interrupted it. So after a while there is no child.
class RawFork {
 public:
  RawFork() noexcept {
    constexpr std::uint64_t longest_ns = 10'000'000'000;
    const std::uint64_t begun = os::monotonic_ns();
    if (Runtime* const tier = runtime(); tier != nullptr) tier->service.release_threads();
    while (!begin() && os::monotonic_ns() - begun < longest_ns) nap();
  }

  [[nodiscard]] bool may_be_made() const { return has_lock_; }
  [[nodiscard]] std::uint64_t signals() const { return signals_; }

  /// In the parent or the child, by what made it; that.
  template <typename Made>
  Made end(Made made) const noexcept {
    if (made == 0) {
      begin_child(signals_);
    } else {
      one_fork.unlock();
      os::restore_signals(signals_);
    }
    return made;
  }

  static void begin_child(std::uint64_t signals) noexcept {
    one_fork.free_in_child();
    os::restore_signals(signals);
  }

 private:
  /// With signals blocked, whose handlers may fork.
  bool begin() noexcept {
    signals_ = os::block_signals();
    has_lock_ = one_fork.try_lock();
    if (!has_lock_) os::restore_signals(signals_);
    return has_lock_;
  }
  static void nap() noexcept {
    const timespec moment{.tv_sec = 0, .tv_nsec = 100'000};
    os::call(__NR_nanosleep, os::word(&moment), 0);
  }

  std::uint64_t signals_ = 0;
  bool has_lock_ = false;
};

/// What a child of `clone` begins with, at the end of its stack.
struct alignas(16) Start {
  int (*run)(void*);
  void* argument;
  std::uint64_t signals;
};

int run_child(void* given) {
  const Start start = *static_cast<const Start*>(given);
  RawFork::begin_child(start.signals);
  return start.run(start.argument);
}

pid_t (*libc_fork)();
int (*libc_clone)(int (*)(void*), void*, int, void*, ...);

/// In the handler of a signal nothing can be looked up.
__attribute__((constructor(101))) void find_libc_forks() {
  if (libc_fork == nullptr) libc_fork = next<pid_t()>("_Fork");
  if (libc_clone == nullptr)
    libc_clone = next<int(int (*)(void*), void*, int, void*, ...)>("clone");
}

}  // namespace

long raw_fork(long number, const Words& words) noexcept {
  const RawFork fork;
  if (!fork.may_be_made()) return -EAGAIN;
  const auto& [a, b, c, d, e, f] = words;
  return fork.end(nearfar_program_call(number, a, b, c, d, e, f));
}

}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): libc's name
NEARFAR_EXPORT pid_t _Fork() noexcept {
  preload::find_libc_forks();
  const preload::RawFork fork;
  return fork.may_be_made() ? fork.end(preload::libc_fork()) : preload::status(-EAGAIN);
}

NEARFAR_EXPORT int clone(int (*run)(void*), void* stack, int flags, void* argument, ...) noexcept {
  std::va_list given;
  va_start(given, argument);
  std::array<void*, 3> more{};
  for (void*& word : more) word = va_arg(given, void*);
  va_end(given);
  preload::find_libc_forks();
  if ((flags & CLONE_VM) != 0 || run == nullptr || stack == nullptr) {
    preload::Runtime* const tier = preload::runtime();
    if (tier != nullptr) tier->service.release_threads();
    return preload::libc_clone(run, stack, flags, argument, more[0], more[1], more[2]);
  }
  auto* const start = os::pointer<preload::Start>(os::place(stack) / 16 * 16) - 1;
  *start = {.run = run, .argument = argument, .signals = 0};
  const preload::RawFork fork;
  if (!fork.may_be_made()) return preload::status(-EAGAIN);
  start->signals = fork.signals();
  return fork.end(
      preload::libc_clone(preload::run_child, start, flags, start, more[0], more[1], more[2]));
}
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): libc's name
NEARFAR_EXPORT __attribute__((alias("clone"))) int __clone(int (*run)(void*), void* stack,
                                                           int flags, void* argument, ...) noexcept;

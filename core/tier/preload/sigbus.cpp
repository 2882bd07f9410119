// Faults that are served by the thread that has them, in a handler of SIGBUS. The program must
// neither take the handler away nor block the signal, so its calls to that end are answered here:
// what it wants done about SIGBUS is done for addresses that are not managed.
//
// While the handler runs, all other signals are blocked, so that none of their handlers can fault
// while the pager is at work. It runs on the stack that it finds, which must not be managed memory.

#include "tier/preload/sigbus.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "tier/preload/exported.h"

// How a handler returns, as libc's own do.
extern "C" __attribute__((visibility("hidden"))) void nearfar_return_from_handler();
asm(".text\n\t"
    ".globl nearfar_return_from_handler\n\t"
    ".hidden nearfar_return_from_handler\n\t"
    ".type nearfar_return_from_handler, @function\n"
    "nearfar_return_from_handler:\n\t"
    "mov $15, %eax\n\t"
    "syscall\n\t"
    ".size nearfar_return_from_handler, .-nearfar_return_from_handler\n");
static_assert(__NR_rt_sigreturn == 15);

namespace nearfar::tier::preload {
namespace {

constexpr std::uint64_t with_restorer = 0x04000000;  // SA_RESTORER

constexpr std::uint64_t bit(int signal) {
  return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

Service* pager_service = nullptr;

// Where no library has to be asked for it, which would allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local UnmanagedFault last_unmanaged;

Lock of_program;
struct sigaction program_action;  // what the program wants done about SIGBUS

void set_kernel_action(const KernelAction& action) {
  os::call(__NR_rt_sigaction, SIGBUS, os::word(&action), 0, sizeof action.mask);
}

std::uint64_t kernel_mask(const sigset_t& set) {
  return *reinterpret_cast<const std::uint64_t*>(&set);
}

/// What the program wants done, and what it does once only. All signals are blocked.
struct sigaction take_program_action() {
  const std::lock_guard guard(of_program);
  const struct sigaction action = program_action;
  if ((action.sa_flags & SA_RESETHAND) != 0) program_action.sa_handler = SIG_DFL;
  return action;
}

/// A SIGBUS that is none of ours: behind the end of a file, or one that a process has sent.
void hand_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = take_program_action();
  const bool sent = info->si_code <= 0;
  if (action.sa_handler == SIG_IGN && sent) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    set_kernel_action({});
    // A fault comes again when this returns; what was sent would not.
    const long thread = os::call(__NR_gettid);
    if (sent) os::call(__NR_tgkill, os::call(__NR_getpid), thread, signal);
    return;
  }
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const std::uint64_t mask =
      (kernel_mask(interrupted->uc_sigmask) | kernel_mask(action.sa_mask)) & ~os::fault_signals;
  os::restore_signals(mask);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

/// What the processor says of the fault that a signal came for.
os::Touch touch_of(const void* context) {
  constexpr long long of_write = 2;
  const long long error = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  return (error & of_write) != 0 ? os::Touch::write : os::Touch::read;
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
  if (info->si_code != BUS_ADRERR ||
      !pager_service->fault(os::place(info->si_addr), touch_of(context), last_unmanaged))
    hand_on(signal, info, context);
}

bool is_active() { return pager_service != nullptr; }

/// Whether this is a child that has the program's memory (vfork, posix_spawn): what it wants done
/// would be done in the program.
bool is_in_borrowed_memory() { return os::call(__NR_getpid) != pager_service->process(); }

int change_action(const struct sigaction* wanted, struct sigaction* before) {
  const os::SignalsBlocked blocked;
  const struct sigaction was = program_action;
  if (wanted != nullptr && !is_in_borrowed_memory()) {
    // The program's memory is touched outside of the lock: that may be far.
    const struct sigaction copy = *wanted;
    const std::lock_guard guard(of_program);
    program_action = copy;
  }
  if (before != nullptr) *before = was;
  return 0;
}

/// 0 or -errno.
long change_mask(int how, const sigset_t* set, sigset_t* before) {
  constexpr std::uint64_t of_libc = std::uint64_t{3} << 31U;  // which it does not let be blocked
  std::uint64_t wanted = 0;
  if (set != nullptr) {
    wanted = kernel_mask(*set);
    if (how != SIG_UNBLOCK) wanted &= ~(of_libc | os::fault_signals);
  }
  std::uint64_t was = 0;
  const long error = os::change_signals(how, set == nullptr ? nullptr : &wanted, &was);
  if (error == 0 && before != nullptr) *reinterpret_cast<std::uint64_t*>(before) = was;
  return error;
}

/// A write of what was printed would fail if it had become far.
void keep_standard_streams_near() {
  static char input[BUFSIZ];
  static char output[BUFSIZ];
  setvbuf(stdin, input, _IOFBF, sizeof input);
  setvbuf(stdout, output, isatty(STDOUT_FILENO) != 0 ? _IOLBF : _IOFBF, sizeof output);
}

}  // namespace

void serve_faults_by_signal(Service& service) {
  keep_standard_streams_near();
  struct KernelAction before{};
  os::call(__NR_rt_sigaction, SIGBUS, 0, os::word(&before), sizeof before.mask);
  program_action.sa_handler = SIG_DFL;
  if (before.handler == reinterpret_cast<os::Place>(SIG_IGN)) program_action.sa_handler = SIG_IGN;
  pager_service = &service;
  set_kernel_action({.handler = reinterpret_cast<os::Place>(on_sigbus),
                     .flags = SA_SIGINFO | SA_RESTART | with_restorer,
                     .restorer = reinterpret_cast<os::Place>(nearfar_return_from_handler),
                     .mask = ~std::uint64_t{0}});
  os::fault_signals = bit(SIGBUS);
  os::change_signals(SIG_UNBLOCK, &os::fault_signals, nullptr);
}

void change_program_action(const KernelAction* wanted, KernelAction& before) {
  struct sigaction action{};
  struct sigaction was{};
  if (wanted != nullptr) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's words
    action.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(wanted->handler);
    action.sa_flags = static_cast<int>(wanted->flags & ~with_restorer);
    *reinterpret_cast<std::uint64_t*>(&action.sa_mask) = wanted->mask;
  }
  change_action(wanted == nullptr ? nullptr : &action, &was);
  before = {.handler = reinterpret_cast<os::Place>(was.sa_sigaction),
            .flags = static_cast<std::uint32_t>(was.sa_flags),
            .restorer = 0,
            .mask = kernel_mask(was.sa_mask)};
}

}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;

NEARFAR_EXPORT int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* before) noexcept {
  using Function = int(int, const struct sigaction*, struct sigaction*);
  static const auto real = preload::next<Function>("sigaction");
  if (!preload::is_active()) return real(signal, action, before);
  if (signal == SIGBUS) return preload::change_action(action, before);
  if (action == nullptr) return real(signal, nullptr, before);
  struct sigaction open = *action;  // to faults, while its handler runs
  sigdelset(&open.sa_mask, SIGBUS);
  return real(signal, &open, before);
}

NEARFAR_EXPORT sighandler_t signal(int number, sighandler_t handler) noexcept {
  using Function = sighandler_t(int, sighandler_t);
  static const auto real = preload::next<Function>("signal");
  if (!preload::is_active() || number != SIGBUS) return real(number, handler);
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  preload::change_action(&action, &before);
  return before.sa_handler;
}

NEARFAR_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return preload::status(preload::change_mask(how, set, before));
}

NEARFAR_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) noexcept {
  return static_cast<int>(-preload::change_mask(how, set, before));
}

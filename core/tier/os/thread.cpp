#include "tier/os/thread.h"

#include <sched.h>
#include <signal.h>

namespace nearfar::tier::os {
namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10U;
// What stands in for a thread control block lies above the stack, in the same page: all of it that
// most threads ever touch.
constexpr std::size_t local_bytes = 512;

/// On the new stack: the two words that `start_thread` left there.
[[noreturn]] void enter(void (*run)(void*), void* argument) noexcept {
  run(argument);
  for (;;) call(__NR_exit, 0);
}

// NOLINTBEGIN(misc-const-correctness): the assembly writes and reads what looks unused
/// clone(2), whose child continues on another stack, hence in one piece of assembly.
long clone_onto(long flags, long stack, long local, void (*run)(void*), void* argument) noexcept {
  long result = 0;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = local;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov %[run], %%rdi\n\t"
      "mov %[argument], %%rsi\n\t"
      "call *%[enter]\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(long{__NR_clone}), "D"(flags), "S"(stack), "d"(0L), "r"(r10),
        "r"(r8), [run] "r"(run), [argument] "r"(argument), [enter] "r"(&enter)
      : "rcx", "r11", "memory");
  return result;
}
// NOLINTEND(misc-const-correctness)

}  // namespace

int start_thread(void (*run)(void*), void* argument, Tracer tracer) noexcept {
  const Place memory = reserve(stack_bytes);
  if (memory == 0) return 0;
  const Place local = memory + stack_bytes - local_bytes;
  *pointer<Place>(local) = local;  // the ABI: %fs:0 holds its own address
  *pointer<Place>(local + 2 * sizeof(Place)) = local;
  const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                     CLONE_SYSVSEM | CLONE_SETTLS | CLONE_UNTRACED |
                     (tracer == Tracer::inherit ? CLONE_PTRACE : 0);
  const std::uint64_t all = ~std::uint64_t{0};  // those of faults, too: it has none
  std::uint64_t before = 0;
  change_signals(SIG_SETMASK, &all, &before);
  const long thread = clone_onto(flags, word(local), word(local), run, argument);
  restore_signals(before);
  return thread > 0 ? static_cast<int>(thread) : 0;
}

}  // namespace nearfar::tier::os

// libc's syscall(2), for programs that call the kernel by number: what this library answers by
// name, it answers by number too. Everything else is one instruction, as in libc: a call that makes
// a thread, or a process on the same memory, must not find a frame of ours on the stack that it
// comes back to.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cstdarg>

#include "tier/preload/affinity.h"
#include "tier/preload/exported.h"
#include "tier/preload/held_calls.h"
#include "tier/preload/raw_fork.h"
#include "tier/preload/runtime.h"
#include "tier/preload/sandbox.h"

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

// mapped.cpp has it; no header of libc's does.
extern "C" long mbind(void* at, unsigned long length, int mode, const unsigned long* nodes,
                      unsigned long most, unsigned flags) noexcept;

namespace nearfar::tier::preload {
namespace {

/// io_uring_register(2). A device writes to registered buffers at any time, and where pages leave
/// by being copied, what it writes meanwhile would be lost.
long register_ring(long ring, long operation, long argument, long count) {
  constexpr long buffers = 0;
  constexpr long buffers_with_tags = 15;
  constexpr long replaced_buffers = 16;
  const Runtime* const tier = runtime();
  const bool of_buffers =
      operation == buffers || operation == buffers_with_tags || operation == replaced_buffers;
  if (tier != nullptr && of_buffers && !tier->pager.uffd().moves()) return -EOPNOTSUPP;
  return os::call(__NR_io_uring_register, ring, operation, argument, count);
}

/// prctl(2). The kernel unprotects pages that it merges with others, so the pager would not learn
/// of a write to one that came in write-protected.
long control_process(long option, long a, long b, long c, long d) {
  constexpr long set_memory_merge = 67;  // PR_SET_MEMORY_MERGE, since Linux 6.4
  if (option == set_memory_merge && a != 0 && runtime() != nullptr) return -EINVAL;
  if (option == PR_SET_SECCOMP) return set_seccomp(a, b);
  return call_for_program(__NR_prctl, {option, a, b, c, d, 0});
}

}  // namespace
}  // namespace nearfar::tier::preload

NEARFAR_EXPORT int prctl(int option, ...) noexcept {
  std::va_list arguments;
  va_start(arguments, option);
  std::array<long, 4> words{};
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  return preload::status(preload::control_process(option, words[0], words[1], words[2], words[3]));
}

extern "C" {

__attribute__((used, visibility("hidden"))) long nearfar_answered_call(long number, long a, long b,
                                                                       long c, long d, long e,
                                                                       long f) noexcept {
  const auto at = static_cast<os::Place>(a);
  const auto length = static_cast<std::size_t>(b);
  switch (number) {
    case __NR_mmap:
      return os::word(mmap(os::pointer(at), length, static_cast<int>(c), static_cast<int>(d),
                           static_cast<int>(e), f));
    case __NR_munmap:
      return munmap(os::pointer(at), length);
    case __NR_mremap:
      return os::word(mremap(os::pointer(at), length, static_cast<std::size_t>(c),
                             static_cast<int>(d), os::pointer(static_cast<os::Place>(e))));
    case __NR_madvise:
      return madvise(os::pointer(at), length, static_cast<int>(c));
    case __NR_mprotect:
      return mprotect(os::pointer(at), length, static_cast<int>(c));
    case __NR_mincore:
      return mincore(os::pointer(at), length,
                     os::pointer<unsigned char>(static_cast<os::Place>(c)));
    case __NR_msync:
      return msync(os::pointer(at), length, static_cast<int>(c));
    case __NR_mlock:
      return mlock(os::pointer(at), length);
    case __NR_mlock2:
      return mlock2(os::pointer(at), length, static_cast<unsigned>(c));
    case __NR_munlock:
      return munlock(os::pointer(at), length);
    case __NR_mbind:
      return mbind(os::pointer(at), length, static_cast<int>(c),
                   os::pointer<const unsigned long>(static_cast<os::Place>(d)),
                   static_cast<unsigned long>(e), static_cast<unsigned>(f));
    case __NR_brk:
      return preload::raw_break(at);
    case __NR_mlockall:
      return mlockall(static_cast<int>(a));
    case __NR_close:
      return close(static_cast<int>(a));
    case __NR_close_range:
      return close_range(static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<int>(c));
    case __NR_dup2:
      return dup2(static_cast<int>(a), static_cast<int>(b));
    case __NR_dup3:
      return dup3(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c));
    case __NR_io_uring_register:
      return preload::answer(preload::register_ring(a, b, c, d));
    case __NR_prctl:
      return preload::answer(preload::control_process(a, b, c, d, e));
    case __NR_seccomp:
      return preload::answer(preload::seccomp(a, b, c));
    case __NR_fork:
    case __NR_clone:
      return preload::answer(preload::raw_fork(number, {a, b, c, d, e, f}));
    default:
      return preload::answer(preload::call_for_program(number, {a, b, c, d, e, f}));
  }
}

__attribute__((used, visibility("hidden"))) long nearfar_failed_call(long error) noexcept {
  return preload::answer(error);
}

}  // extern "C"

// The C calling convention passes the number and five arguments in registers, the last one on the
// stack; so does the function above, which is jumped to with everything where it was.
#define NEARFAR_ANSWERED(number) "cmp $" #number ", %edi\n\tje nearfar_answered_call\n\t"
#define NEARFAR_EXPANDED(number) NEARFAR_ANSWERED(number)
// Before these, the program's threads may run where they could (affinity.cpp). The first are made
// here, as they come back twice or on another stack.
#define NEARFAR_STARTS(number) "cmp $" #number ", %edi\n\tje 2f\n\t"
#define NEARFAR_LET_GO_BEFORE_START(number) NEARFAR_STARTS(number)
// A child that shares no memory and comes back on the same stack is a fork (raw_fork.cpp).
#define NEARFAR_CLONED(number) "cmp $" #number ", %edi\n\tje 6f\n\t"
#define NEARFAR_FORK_OR_START(number) NEARFAR_CLONED(number)
#define NEARFAR_UNLESS(flag) "test $" #flag ", %esi\n\tjne 2f\n\t"
#define NEARFAR_FORKS_UNLESS(flag) NEARFAR_UNLESS(flag)
#define NEARFAR_HANDED_ON(number) "cmp $" #number ", %edi\n\tje 5f\n\t"
#define NEARFAR_LET_GO_BEFORE(number) NEARFAR_HANDED_ON(number)
#define NEARFAR_CALL_THE_KERNEL \
  "mov %rdi, %rax\n\t"          \
  "mov %rsi, %rdi\n\t"          \
  "mov %rdx, %rsi\n\t"          \
  "mov %rcx, %rdx\n\t"          \
  "mov %r8, %r10\n\t"           \
  "mov %r9, %r8\n\t"            \
  "mov 8(%rsp), %r9\n\t"        \
  "syscall\n\t"
asm(".text\n\t"
    ".globl syscall\n\t"
    ".type syscall, @function\n\t"
    ".globl nearfar_syscall\n\t"
    ".hidden nearfar_syscall\n"
    "nearfar_syscall:\n"
    "syscall:\n\t"
    ".cfi_startproc\n\t"
    NEARFAR_EXPANDED(__NR_mmap)
    NEARFAR_EXPANDED(__NR_munmap)
    NEARFAR_EXPANDED(__NR_mremap)
    NEARFAR_EXPANDED(__NR_madvise)
    NEARFAR_EXPANDED(__NR_mprotect)
    NEARFAR_EXPANDED(__NR_mincore)
    NEARFAR_EXPANDED(__NR_msync)
    NEARFAR_EXPANDED(__NR_mlock)
    NEARFAR_EXPANDED(__NR_mlock2)
    NEARFAR_EXPANDED(__NR_munlock)
    NEARFAR_EXPANDED(__NR_mbind)
    NEARFAR_EXPANDED(__NR_brk)
    NEARFAR_EXPANDED(__NR_mlockall)
    NEARFAR_EXPANDED(__NR_close)
    NEARFAR_EXPANDED(__NR_close_range)
    NEARFAR_EXPANDED(__NR_dup2)
    NEARFAR_EXPANDED(__NR_dup3)
    NEARFAR_EXPANDED(__NR_io_uring_register)
    NEARFAR_EXPANDED(__NR_prctl)
    NEARFAR_EXPANDED(__NR_seccomp)
    NEARFAR_EXPANDED(__NR_fork)
    NEARFAR_FORK_OR_START(__NR_clone)
    NEARFAR_LET_GO_BEFORE_START(__NR_clone3)
    NEARFAR_LET_GO_BEFORE_START(__NR_vfork)
    NEARFAR_LET_GO_BEFORE(__NR_execve)
    NEARFAR_LET_GO_BEFORE(__NR_execveat)
    NEARFAR_LET_GO_BEFORE(__NR_sched_getaffinity)
    NEARFAR_LET_GO_BEFORE(__NR_sched_setaffinity)
    "4:\n\t"
    "cmpb $0, nearfar_holds_calls(%rip)\n\t"
    "jne nearfar_answered_call\n"
    "3:\n\t"
    NEARFAR_CALL_THE_KERNEL
    "cmp $-4095, %rax\n\t"
    "jae 1f\n\t"
    "ret\n"
    "1:\n\t"
    "mov %rax, %rdi\n\t"
    "jmp nearfar_failed_call\n"
    "6:\n\t"
    NEARFAR_FORKS_UNLESS(CLONE_VM)
    NEARFAR_FORKS_UNLESS(CLONE_SETTLS)
    "test %rdx, %rdx\n\t"
    "je nearfar_answered_call\n"
    "2:\n\t"
    NEARFAR_KEEPING_ARGUMENTS("call nearfar_release_threads\n\t")
    "jmp 3b\n"
    "5:\n\t"
    NEARFAR_KEEPING_ARGUMENTS("call nearfar_release_threads\n\t")
    "jmp 4b\n\t"
    ".cfi_endproc\n\t"
    ".size syscall, .-syscall\n\t"
    ".globl nearfar_program_call\n\t"
    ".hidden nearfar_program_call\n\t"
    ".type nearfar_program_call, @function\n"
    "nearfar_program_call:\n\t"
    ".cfi_startproc\n\t"
    NEARFAR_CALL_THE_KERNEL
    "ret\n\t"
    ".cfi_endproc\n\t"
    ".size nearfar_program_call, .-nearfar_program_call\n"
    // What it calls the kernel for is the program's (sandbox.cpp).
    ".globl nearfar_syscall_end\n\t"
    ".hidden nearfar_syscall_end\n"
    "nearfar_syscall_end:\n");

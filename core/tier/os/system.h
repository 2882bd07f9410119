#pragma once

#include <asm/unistd.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace nearfar::tier::os {

/// A place in the program's memory, as the kernel names it.
using Place = std::uintptr_t;

inline constexpr std::size_t page_bytes = 4096;

/// A system call without libc: the pager's thread has no errno, and a signal handler's errno must
/// not change. Returns -errno.
// NOLINTBEGIN(misc-const-correctness): the assembly writes and reads what looks unused
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) noexcept {
  long result = 0;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
// NOLINTEND(misc-const-correctness)

template <typename T = void>
[[nodiscard]] inline T* pointer(Place place) noexcept {
  return reinterpret_cast<T*>(place);  // NOLINT(performance-no-int-to-ptr): the kernel's words
}
[[nodiscard]] inline Place place(const volatile void* at) noexcept {
  return reinterpret_cast<Place>(at);
}
[[nodiscard]] inline long word(const volatile void* at) noexcept {
  return static_cast<long>(place(at));
}
[[nodiscard]] inline long word(std::size_t n) noexcept { return static_cast<long>(n); }

[[nodiscard]] inline long map(Place at, std::size_t length, int protection, int flags, int fd = -1,
                              long offset = 0) noexcept {
  return call(__NR_mmap, word(at), word(length), protection, flags, fd, offset);
}
inline long unmap(Place at, std::size_t length) noexcept {
  return call(__NR_munmap, word(at), word(length));
}
inline long advise(Place at, std::size_t length, int advice) noexcept {
  return call(__NR_madvise, word(at), word(length), advice);
}
inline long protect(Place at, std::size_t length, int protection) noexcept {
  return call(__NR_mprotect, word(at), word(length), protection);
}

/// Fresh private memory that no allocator knows; 0 if there is none. A touch takes a page of it and
/// no more, whatever the system does for others.
[[nodiscard]] inline Place reserve(std::size_t length,
                                   int protection = PROT_READ | PROT_WRITE) noexcept {
  const long at = map(0, length, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
  if (at < 0) return 0;
  advise(static_cast<Place>(at), length, MADV_NOHUGEPAGE);
  return static_cast<Place>(at);
}

/// The same, over reserved addresses, and not counted among the process's data (RLIMIT_DATA): the
/// kernel counts memory that grows downwards as stack. It cannot grow where the page before it is
/// reserved, too, and inaccessible. Returns false if it is refused.
[[nodiscard]] inline bool make_uncounted(Place at, std::size_t length) noexcept {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN | MAP_FIXED;
  if (map(at, length, PROT_READ | PROT_WRITE, flags) < 0) return false;
  advise(at, length, MADV_NOHUGEPAGE);
  return true;
}

/// Waits while `at` is `value`; may return early.
void wait(std::atomic<std::uint32_t>& at, std::uint32_t value) noexcept;
/// The same, and for so long at most.
void wait_for(std::atomic<std::uint32_t>& at, std::uint32_t value, std::uint64_t ns) noexcept;
void wake_all(std::atomic<std::uint32_t>& at) noexcept;
void wake_one(std::atomic<std::uint32_t>& at) noexcept;
void wake(std::atomic<std::uint32_t>& at, int most) noexcept;

/// Opens a file that another process has open, by that process's number for it, with more flags
/// than to read, to write and to be closed by exec.
[[nodiscard]] int open_of(int process, int descriptor, int flags = 0) noexcept;

/// Moves a descriptor out of the program's way, to a high number. -errno on failure.
[[nodiscard]] int hide(int descriptor) noexcept;

/// This process's number as /proc has it, which every process of a tree sees; what getpid says is
/// another in a namespace of process numbers of its own.
[[nodiscard]] int number_in_proc() noexcept;

/// Whether the process is gone, or left only for its parent to look at.
[[nodiscard]] bool has_ended(int process) noexcept;

/// Whether the kernel has transparent huge pages for memory that asks for them.
[[nodiscard]] bool has_huge_pages() noexcept;
/// Whether it merges this process's equal pages, unasked. It then unprotects them.
[[nodiscard]] bool merges_pages() noexcept;

/// Writes "nearfar tier: WHAT", and what an error means, to standard error and ends the process.
[[noreturn]] void fail(const char* what, long error = 0) noexcept;
/// The same of input, with status 2: "WHAT: found 'FOUND', expected EXPECTED". What was found may
/// be null, if that is said by `what`.
[[noreturn]] void refuse(const char* what, const char* found, const char* expected) noexcept;

/// An array of zeros that stays until the process ends, which it does with a message if there is no
/// memory for `what`.
template <typename T>
[[nodiscard]] T* reserve_array(std::size_t count, const char* what) noexcept {
  const Place at = reserve(count * sizeof(T));
  if (at == 0) fail(what);
  return pointer<T>(at);
}

/// Signals by which faults are served, a bit each as the kernel has them: nothing blocks them but
/// in threads that touch no managed memory. Set before there is any.
inline constinit std::uint64_t fault_signals = 0;

/// Blocks every signal but those of faults; returns what was blocked before, for `restore_signals`.
[[nodiscard]] std::uint64_t block_signals() noexcept;
void restore_signals(std::uint64_t before) noexcept;
/// Changes which signals are blocked, as rt_sigprocmask(2).
long change_signals(int how, const std::uint64_t* set, std::uint64_t* before) noexcept;

/// Takes back a signal that was sent to this thread, which blocks it, if it was.
void take_back(int signal) noexcept;

/// Blocks every signal for its lifetime: a handler must not run while a lock of ours is held.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept : before_(block_signals()) {}
  ~SignalsBlocked() { restore_signals(before_); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace nearfar::tier::os

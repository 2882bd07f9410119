#include "tier/os/system.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "tier/os/text.h"

namespace nearfar::tier::os {
namespace {

/// From where on descriptors are out of a program's way: below the usual limit of 1024, and above
/// what programs count to. A low limit leaves them the last 124 numbers, or half.
long hidden_from() noexcept {
  constexpr long usual = 900;
  constexpr long ours = 124;
  rlimit limit{};
  if (call(__NR_getrlimit, RLIMIT_NOFILE, word(&limit)) < 0) return usual;
  const auto most = static_cast<long>(std::min<rlim_t>(limit.rlim_cur, usual + ours));
  return std::max(most - ours, most / 2);
}

/// The start of a small file of /proc, ended by a zero; false if it cannot be read.
bool read_start(const char* path, char* buffer, std::size_t size) noexcept {
  const long file = call(__NR_openat, AT_FDCWD, word(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const long got = call(__NR_read, file, word(buffer), word(size - 1));
  call(__NR_close, file);
  if (got <= 0) return false;
  buffer[got] = '\0';
  return true;
}

/// Writes a line, which has room for its end, to standard error and ends the process.
[[noreturn]] void say_and_exit(const char* line, char* end, int status) noexcept {
  *end++ = '\n';
  call(__NR_write, 2, word(line), end - line);
  for (;;) call(__NR_exit_group, status);
}

/// At most 256 characters of a text of the user's; control characters as '?'.
char* put_on_one_line(char* to, const char* text) noexcept {
  constexpr std::size_t most = 256;
  for (std::size_t i = 0; i < most && text[i] != '\0'; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    *to++ = c < ' ' || c == 0x7f ? '?' : text[i];
  }
  return to;
}

}  // namespace

void wait(std::atomic<std::uint32_t>& at, std::uint32_t value) noexcept {
  call(__NR_futex, word(&at), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value);
}

void wait_for(std::atomic<std::uint32_t>& at, std::uint32_t value, std::uint64_t ns) noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  const timespec most{.tv_sec = static_cast<time_t>(ns / second),
                      .tv_nsec = static_cast<long>(ns % second)};
  call(__NR_futex, word(&at), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, word(&most));
}

void wake(std::atomic<std::uint32_t>& at, int most) noexcept {
  call(__NR_futex, word(&at), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, most);
}

void wake_all(std::atomic<std::uint32_t>& at) noexcept { wake(at, 1 << 30); }

void wake_one(std::atomic<std::uint32_t>& at) noexcept { wake(at, 1); }

int open_of(int process, int descriptor, int flags) noexcept {
  char path[64];
  char* end = put(put(path, "/proc/"), static_cast<unsigned long>(process));
  *put(put(end, "/fd/"), static_cast<unsigned long>(descriptor)) = '\0';
  return static_cast<int>(call(__NR_openat, AT_FDCWD, word(path), O_RDWR | O_CLOEXEC | flags));
}

int hide(int descriptor) noexcept {
  const long high = call(__NR_fcntl, descriptor, F_DUPFD_CLOEXEC, hidden_from());
  if (high < 0) return descriptor;  // none is left: it stays where it is
  call(__NR_close, descriptor);
  return static_cast<int>(high);
}

int number_in_proc() noexcept {
  char stat[32];
  if (!read_start("/proc/self/stat", stat, sizeof stat)) return static_cast<int>(call(__NR_getpid));
  return static_cast<int>(number(stat));
}

bool has_ended(int process) noexcept {
  const long file = call(__NR_pidfd_open, process, 0);
  // A number may be a thread's by now, as they are used again.
  if (file == -ESRCH || file == -EINVAL || file == -ENOENT) return true;
  if (file < 0) return call(__NR_kill, process, 0) == -ESRCH;
  pollfd ended{.fd = static_cast<int>(file), .events = POLLIN, .revents = 0};
  const bool has = call(__NR_poll, word(&ended), 1, 0) == 1;
  call(__NR_close, file);
  return has;
}

bool has_huge_pages() noexcept {
  char text[64];
  return read_start("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text) &&
         std::strstr(text, "[never]") == nullptr;
}

bool merges_pages() noexcept {
  constexpr int get_memory_merge = 68;  // PR_GET_MEMORY_MERGE, since Linux 6.4
  return call(__NR_prctl, get_memory_merge) == 1;
}

void fail(const char* what, long error) noexcept {
  char line[512];
  char* end = put(put(line, "nearfar tier: "), what);
  if (error != 0) {
    const auto number = static_cast<int>(error < 0 ? -error : error);
    const char* const means = strerrordesc_np(number);
    end = put(put(end, ": "), means == nullptr ? "unknown error" : means);
  }
  say_and_exit(line, end, 1);
}

void refuse(const char* what, const char* found, const char* expected) noexcept {
  char line[1024];
  char* end = put_on_one_line(put(line, "nearfar tier: "), what);
  end = put(end, found == nullptr ? ": expected " : ": found '");
  if (found != nullptr) end = put(put_on_one_line(end, found), "', expected ");
  end = put(end, expected);
  constexpr int wrong_input = 2;
  say_and_exit(line, end, wrong_input);
}

std::uint64_t block_signals() noexcept {
  const std::uint64_t all = ~fault_signals;
  std::uint64_t before = 0;
  change_signals(SIG_SETMASK, &all, &before);
  return before;
}

void restore_signals(std::uint64_t before) noexcept {
  change_signals(SIG_SETMASK, &before, nullptr);
}

void take_back(int signal) noexcept {
  const std::uint64_t set = std::uint64_t{1} << (signal - 1);
  const timespec no_time{};
  call(__NR_rt_sigtimedwait, word(&set), 0, word(&no_time), sizeof set);
}

long change_signals(int how, const std::uint64_t* set, std::uint64_t* before) noexcept {
  return call(__NR_rt_sigprocmask, how, word(set), word(before), sizeof(std::uint64_t));
}

}  // namespace nearfar::tier::os

#include "tier/os/status.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>

#include "tier/os/system.h"
#include "tier/os/text.h"

namespace nearfar::tier::os {
namespace {

/// What the kernel tells, as a whole: the groups of a user may be many.
struct Text {
  char text[8192];
};

/// What follows a key; null if it is not told.
const char* find(int status, const char* key, Text& told) noexcept {
  const long got = call(__NR_pread64, status, word(told.text), word(sizeof told.text - 1), 0);
  if (got <= 0) return nullptr;
  told.text[got] = '\0';
  const char* const at = std::strstr(told.text, key);
  return at == nullptr ? nullptr : at + std::strlen(key);
}

}  // namespace

int open_status() noexcept {
  const long file = call(__NR_openat, AT_FDCWD, word("/proc/self/status"), O_RDONLY | O_CLOEXEC);
  return file < 0 ? static_cast<int>(file) : hide(static_cast<int>(file));
}

std::uint64_t anonymous_pages(int status) noexcept {
  Text told;
  const char* const at = find(status, "\nRssAnon:", told);
  constexpr std::uint64_t kib_a_page = page_bytes / 1024;
  return at == nullptr ? 0 : number(at) / kib_a_page;
}

std::optional<ThreadStatus> read_thread_status() noexcept {
  const long file =
      call(__NR_openat, AT_FDCWD, word("/proc/thread-self/status"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  ThreadStatus status;
  Text told;
  const char* numbers = find(static_cast<int>(file), "\nNSpid:", told);
  for (; numbers != nullptr && *numbers == '\t'; numbers += std::strcspn(numbers + 1, "\t\n") + 1)
    ++status.pid_namespaces;
  if (const int filters = filters_of(static_cast<int>(file)); filters > 0) status.filters = filters;
  if (const char* const tracer = find(static_cast<int>(file), "\nTracerPid:", told))
    status.tracer = static_cast<int>(number(tracer));
  call(__NR_close, file);
  return status;
}

int thread_number_in_proc() noexcept {
  char path[64] = {};  // PID/task/TID
  const long length =
      call(__NR_readlinkat, AT_FDCWD, word("/proc/thread-self"), word(path), sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return static_cast<int>(number(std::strrchr(path, '/') + 1));
}

std::uint64_t pid_namespace() noexcept {
  struct stat found{};
  const long error = call(__NR_newfstatat, AT_FDCWD, word("/proc/self/ns/pid"), word(&found), 0);
  return error == 0 ? found.st_ino : 0;
}

int filters_of(int status) noexcept {
  Text told;
  const char* const at = find(status, "\nSeccomp_filters:", told);
  return at == nullptr ? -1 : static_cast<int>(number(at));
}

bool has_first_thread_ended(int status) noexcept {
  Text told;
  const char* const at = find(status, "\nState:\t", told);
  return at != nullptr && (*at == 'Z' || *at == 'X');
}

}  // namespace nearfar::tier::os

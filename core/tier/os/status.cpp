#include "tier/os/status.h"

#include <fcntl.h>

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

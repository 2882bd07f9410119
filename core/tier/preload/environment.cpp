#include "tier/preload/environment.h"

#include <fcntl.h>

#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier::preload {

bool started_with(const char* name, char* value, std::size_t size) {
  const long file =
      os::call(__NR_openat, AT_FDCWD, os::word("/proc/self/environ"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const std::size_t name_length = std::strlen(name);
  std::size_t at = 0;  // in the entry, whose name is as wanted so far
  bool wanted = true;
  bool found = false;
  char chunk[1024] = {};
  for (long got = 1; got > 0 && !found;) {
    got = os::call(__NR_read, file, os::word(chunk), sizeof chunk);
    for (long i = 0; i < got && !found; ++i, ++at) {
      const char c = chunk[i];
      if (at < name_length) {
        wanted = wanted && c == name[at];
      } else if (at == name_length) {
        wanted = wanted && c == '=';
      } else if (wanted && at - name_length - 1 < size) {
        value[at - name_length - 1] = c;
        found = c == '\0';
      }
      if (c == '\0') {
        at = ~std::size_t{0};
        wanted = true;
      }
    }
  }
  os::call(__NR_close, file);
  return found;
}

}  // namespace nearfar::tier::preload

// Calls that say whether memory is mapped, besides what they do: programs, and libraries that walk
// stacks, ask by them before they read. Free addresses are there to the kernel, and not to the
// program.

#include <pthread.h>

#include "tier/preload/exported.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

/// -ENOMEM where some of it is free, as where nothing is mapped; else what the call says.
long if_mapped(long number, const void* at, std::size_t length, long argument = 0) {
  Runtime* const tier = runtime();
  const os::Place begin = os::place(at);
  const bool rounds = number != __NR_mincore && number != __NR_msync;
  // What is no range at all is for the kernel to refuse.
  const bool range = (rounds || begin % os::page_bytes == 0) && length != 0;
  if (tier != nullptr && range && tier->space.touches(begin, length) &&
      tier->space.is_free(begin, length))
    return -ENOMEM;
  return os::call(number, os::word(at), os::word(length), argument);
}

}  // namespace
}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT int mincore(void* at, std::size_t length, unsigned char* resident) noexcept {
  return preload::status(preload::if_mapped(__NR_mincore, at, length, os::word(resident)));
}

/// A cancellation point.
NEARFAR_EXPORT int msync(void* at, std::size_t length, int flags) {
  pthread_testcancel();
  return preload::status(preload::if_mapped(__NR_msync, at, length, flags));
}

NEARFAR_EXPORT int mlock(const void* at, std::size_t length) noexcept {
  return preload::status(preload::if_mapped(__NR_mlock, at, length));
}

NEARFAR_EXPORT int mlock2(const void* at, std::size_t length, unsigned flags) noexcept {
  return preload::status(preload::if_mapped(__NR_mlock2, at, length, flags));
}

NEARFAR_EXPORT int munlock(const void* at, std::size_t length) noexcept {
  return preload::status(preload::if_mapped(__NR_munlock, at, length));
}

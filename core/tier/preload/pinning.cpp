// Memory that must stay near. When a thread ends, the kernel marks the robust mutexes that it
// holds and tells the joining thread, both by writing to memory that no pager brings in any more:
// were it far, others would wait for ever. These pages are locked, which the pager respects.
//
// All of a program's memory cannot be locked: it would take in the library's own tables, of which
// hardly anything exists, and the limit of near memory would mean nothing.

#include <pthread.h>

#include "tier/preload/exported.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

/// Locks the pages of a range as far as it is managed, and as far as the user may.
void keep_near(const void* at, std::size_t length) {
  const Runtime* const tier = runtime();
  const os::Place begin = os::place(at);
  if (tier != nullptr && tier->space.holds(begin, length))
    os::call(__NR_mlock, os::word(begin), os::word(length));
}

bool is_robust(const pthread_mutexattr_t* attributes) {
  int robust = PTHREAD_MUTEX_STALLED;
  return attributes != nullptr && pthread_mutexattr_getrobust(attributes, &robust) == 0 &&
         robust == PTHREAD_MUTEX_ROBUST;
}

}  // namespace
}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex,
                                      const pthread_mutexattr_t* attributes) noexcept {
  using Function = int(pthread_mutex_t*, const pthread_mutexattr_t*);
  static const auto real = preload::next<Function>("pthread_mutex_init");
  if (preload::is_robust(attributes)) preload::keep_near(mutex, sizeof *mutex);
  return real(mutex, attributes);
}

NEARFAR_EXPORT int pthread_attr_setstack(pthread_attr_t* attributes, void* at,
                                         std::size_t length) noexcept {
  using Function = int(pthread_attr_t*, void*, std::size_t);
  const int error = preload::next<Function>("pthread_attr_setstack")(attributes, at, length);
  // libc keeps what it knows of a thread, less than a page, at the upper end of its stack.
  if (error == 0 && length >= os::page_bytes)
    preload::keep_near(static_cast<char*>(at) + length - os::page_bytes, os::page_bytes);
  return error;
}

NEARFAR_EXPORT int mlockall(int flags) noexcept {
  if (preload::runtime() == nullptr) return preload::status(os::call(__NR_mlockall, flags));
  return preload::status(-ENOMEM);
}

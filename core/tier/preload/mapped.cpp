// Calls that say whether memory is mapped, besides what they do: programs, and libraries that walk
// stacks, ask by them before they read. Free addresses are there to the kernel, and not to the
// program.

#include <pthread.h>

#include "tier/preload/exported.h"
#include "tier/preload/held_calls.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

bool is_free(const void* at, std::size_t length) {
  Runtime* const tier = runtime();
  const os::Place begin = os::place(at);
  return tier != nullptr && length != 0 && tier->space.touches(begin, length) &&
         tier->space.is_free(begin, length);
}

/// What the call does beside free addresses it does, and then says -ENOMEM, as where nothing is
/// mapped.
long call(long number, const void* at, std::size_t length, long argument = 0) {
  const long done = call_for_program(number, {os::word(at), os::word(length), argument, 0, 0, 0});
  return done >= 0 && is_free(at, length) ? -ENOMEM : done;
}

/// The same of a call that would do something to free addresses, too.
long call_if_mapped(long number, const void* at, std::size_t length, long argument = 0) {
  if (is_free(at, length)) return -ENOMEM;
  return call_for_program(number, {os::word(at), os::word(length), argument, 0, 0, 0});
}

/// The program says itself on which nodes this memory is to lie. Pages that change places with
/// others there would come from where those were, so they stay until it says so no more. `mode` 0:
/// the default.
long bind(const void* at, std::size_t asked, int mode, const unsigned long* nodes,
          unsigned long most, unsigned flags) {
  Runtime* const tier = runtime();
  const os::Place begin = os::place(at);
  const std::size_t length = (asked + os::page_bytes - 1) / os::page_bytes * os::page_bytes;
  const bool managed = tier != nullptr && tier->pager.flat().is_on() && length != 0 &&
                       begin % os::page_bytes == 0 && tier->space.holds(begin, length);
  if (managed) {
    const auto kind = mode == 0 ? Request::Kind::may_leave : Request::Kind::keep_near;
    if (!tier->service.ask({.kind = kind, .begin = begin, .end = begin + length})) return -ENOMEM;
  }
  const long done =
      nearfar_program_call(__NR_mbind, os::word(at), os::word(asked), mode, os::word(nodes),
                           static_cast<long>(most), static_cast<long>(flags));
  if (managed && mode != 0 && done < 0)
    (void)tier->service.ask(
        {.kind = Request::Kind::may_leave, .begin = begin, .end = begin + length});
  return done;
}

}  // namespace
}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT int mincore(void* at, std::size_t length, unsigned char* resident) noexcept {
  return preload::status(preload::call(__NR_mincore, at, length, os::word(resident)));
}

/// A cancellation point.
NEARFAR_EXPORT int msync(void* at, std::size_t length, int flags) {
  pthread_testcancel();
  return preload::status(preload::call(__NR_msync, at, length, flags));
}

NEARFAR_EXPORT int mlock(const void* at, std::size_t length) noexcept {
  return preload::status(preload::call_if_mapped(__NR_mlock, at, length));
}

NEARFAR_EXPORT int mlock2(const void* at, std::size_t length, unsigned flags) noexcept {
  return preload::status(preload::call_if_mapped(__NR_mlock2, at, length, flags));
}

NEARFAR_EXPORT int munlock(const void* at, std::size_t length) noexcept {
  return preload::status(preload::call(__NR_munlock, at, length));
}

/// Of libnuma, where it is used.
NEARFAR_EXPORT long mbind(void* at, unsigned long length, int mode, const unsigned long* nodes,
                          unsigned long most, unsigned flags) noexcept {
  return preload::answer(preload::bind(at, length, mode, nodes, most, flags));
}

// The break, of programs that grow it instead of calling mmap or malloc: a range of managed
// addresses that is set aside when the break is first asked for, and becomes usable up to it.
// As with libc's, threads that move the break at once must agree among themselves.

#include <cstdint>

#include "tier/preload/exported.h"
#include "tier/preload/runtime.h"

namespace nearfar::tier::preload {
namespace {

using os::page_bytes;
using os::Place;

struct Break {
  Place first = 0;
  Place end = 0;  // of what is set aside
  Place now = 0;
};
Break the_break;

Place page_behind(Place at) { return (at + page_bytes - 1) / page_bytes * page_bytes; }

/// False if there are no addresses for it.
bool set_aside(Space& space) {
  if (the_break.first != 0) return true;
  constexpr std::size_t most = std::size_t{64} << 30U;
  const std::size_t part = (space.end() - space.base()) / 4;
  const std::size_t length = part < most ? part / page_bytes * page_bytes : most;
  const long at = space.map(length, PROT_NONE);
  if (at < 0) return false;
  const auto first = static_cast<Place>(at);
  the_break = {.first = first, .end = first + length, .now = first};
  return true;
}

/// Where the break is afterwards: at `to`, or where it was if it cannot be there.
Place move_break(Space& space, Place to) {
  if (!set_aside(space)) return 0;
  if (to < the_break.first || to > the_break.end) return the_break.now;
  const Place before = page_behind(the_break.now);
  const Place after = page_behind(to);
  if (after > before) {
    if (os::protect(before, after - before, PROT_READ | PROT_WRITE) < 0) return the_break.now;
  } else if (after < before) {
    if (space.discard(after, before - after) < 0) return the_break.now;
    os::protect(after, before - after, PROT_NONE);
  }
  the_break.now = to;
  return to;
}

}  // namespace

long raw_break(Place to) {
  Runtime* const tier = runtime();
  return tier == nullptr ? os::call(__NR_brk, os::word(to)) : os::word(move_break(tier->space, to));
}

}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;
namespace os = nearfar::tier::os;

NEARFAR_EXPORT int brk(void* to) noexcept {
  preload::Runtime* const tier = preload::runtime();
  if (tier == nullptr) return preload::next<int(void*)>("brk")(to);
  return preload::move_break(tier->space, os::place(to)) == os::place(to)
             ? 0
             : preload::status(-ENOMEM);
}

NEARFAR_EXPORT void* sbrk(std::intptr_t change) noexcept {
  preload::Runtime* const tier = preload::runtime();
  if (tier == nullptr) return preload::next<void*(std::intptr_t)>("sbrk")(change);
  const os::Place before = preload::move_break(tier->space, 0);
  const os::Place to = before + static_cast<os::Place>(change);
  if (before == 0 || preload::move_break(tier->space, to) != to) return preload::result(-ENOMEM);
  return os::pointer(before);
}
